//! The audit trail: the author of each requested change.

use super::decide::DecisionDraft;
use crate::access::{AuditAction, AuditSubject, Principal};
use crate::engine::event;
use crate::engine::request::{EngineAnswer, EngineRequest};
use crate::engine::state::engine::Engine;
use crate::id::{Fence, RunId, TokenId, WorkerId};

/// The subject of a request, before its name is looked up.
enum RequestSubject {
    Run(RunId),
    Worker(WorkerId),
    Lock(Box<str>, Fence),
    Token(TokenId),
    /// The token that the request creates.
    NewToken,
}

impl Engine {
    /// Decides a request of a principal. If it changed anything, an event with the author follows in the same batch.
    pub(in crate::engine) fn decide_audited(
        &mut self,
        out: &mut DecisionDraft,
        by: Principal,
        request: EngineRequest,
    ) -> EngineAnswer {
        let (subject, before) = (request_subject(&request), out.events.len());
        let answer = if let EngineRequest::Join { register, digest } = request {
            self.join(out, register, digest, by.clone()).into()
        } else {
            self.answer(out, request)
        };
        if out.events.len() > before
            && let Some((act, subject)) = subject
            && let Some(about) = self.audit_subject(subject, &answer)
        {
            self.emit(out, event::Acted { by, act, about });
        }
        answer
    }

    fn audit_subject(
        &self,
        subject: RequestSubject,
        answer: &EngineAnswer,
    ) -> Option<AuditSubject> {
        match subject {
            RequestSubject::Run(run) => Some(AuditSubject::Run(run)),
            RequestSubject::Lock(name, fence) => Some(AuditSubject::Lock { name, fence }),
            RequestSubject::Worker(id) => {
                let known = self.worker_ids.get(&id).map(|worker| &self.workers[*worker].name);
                let name = known.or_else(|| self.keys.worker(id).map(|it| &it.name));
                name.cloned().map(|name| AuditSubject::Worker { id, name })
            }
            RequestSubject::Token(id) => self.token(id),
            RequestSubject::NewToken => match answer {
                EngineAnswer::TokenCreated(id) => self.token(*id),
                EngineAnswer::Done
                | EngineAnswer::Exchanged
                | EngineAnswer::Registered(_)
                | EngineAnswer::Submitted { .. }
                | EngineAnswer::Contacts(_)
                | EngineAnswer::Refused(_)
                | EngineAnswer::Denied(_) => None,
            },
        }
    }

    fn token(&self, id: TokenId) -> Option<AuditSubject> {
        let name = self.keys.token(id)?.token.name.clone();
        Some(AuditSubject::Token { id, name })
    }
}

/// The action and the subject for the audit trail; `None` for requests that no principal makes.
fn request_subject(request: &EngineRequest) -> Option<(AuditAction, RequestSubject)> {
    match request {
        EngineRequest::Submit(submit) => {
            Some((AuditAction::Submit, RequestSubject::Run(submit.run)))
        }
        EngineRequest::Resume(resume) => {
            Some((AuditAction::Resume, RequestSubject::Run(resume.run)))
        }
        EngineRequest::Cancel { run, .. } => Some((AuditAction::Cancel, RequestSubject::Run(*run))),
        EngineRequest::Register(register) | EngineRequest::Join { register, .. } => {
            Some((AuditAction::Join, RequestSubject::Worker(register.worker)))
        }
        EngineRequest::Drain { worker } => {
            Some((AuditAction::Drain, RequestSubject::Worker(*worker)))
        }
        EngineRequest::RevokeWorker { worker } => {
            Some((AuditAction::RevokeWorker, RequestSubject::Worker(*worker)))
        }
        EngineRequest::ForceRelease { lock, fence } => {
            Some((AuditAction::ForceRelease, RequestSubject::Lock(lock.clone(), *fence)))
        }
        EngineRequest::CreateToken(_) => Some((AuditAction::CreateToken, RequestSubject::NewToken)),
        EngineRequest::RevokeToken { token } => {
            Some((AuditAction::RevokeToken, RequestSubject::Token(*token)))
        }
        EngineRequest::Lead { .. }
        | EngineRequest::Embargo { .. }
        | EngineRequest::Exchange(_)
        | EngineRequest::GuardEnded { .. }
        | EngineRequest::Condemn { .. }
        | EngineRequest::NoMoreWorkers { .. }
        | EngineRequest::Seal { .. }
        | EngineRequest::Contacts
        | EngineRequest::Tick
        | EngineRequest::OnBehalfOf { .. } => None,
    }
}

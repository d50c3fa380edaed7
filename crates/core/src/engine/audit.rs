//! Says on whose word something was done.

use super::decide::Out;
use super::event::Event;
use super::request::{Answer, Request};
use super::state::Engine;
use crate::access::{About, Act, Principal};
use crate::id::{Fence, RunId, TokenId, WorkerId};

/// What a request is about, before it is known what it is called.
enum Subject {
    Run(RunId),
    Worker(WorkerId),
    Lock(Box<str>, Fence),
    Token(TokenId),
    /// The token that comes of it.
    NewToken,
}

impl Engine {
    /// Answers somebody. If that changed anything it is told whose word it was, behind what changed and in the same batch.
    pub(super) fn asked(&mut self, out: &mut Out, by: Principal, request: Request) -> Answer {
        let (subject, before) = (subject(&request), out.events.len());
        let answer = if let Request::Join { register, digest } = request {
            self.join(out, register, digest, by.clone())
        } else {
            self.answer(out, request)
        };
        if out.events.len() > before
            && let Some((act, subject)) = subject
            && let Some(about) = self.about(subject, &answer)
        {
            self.emit(out, Event::Acted { by, act, about });
        }
        answer
    }

    fn about(&self, subject: Subject, answer: &Answer) -> Option<About> {
        match subject {
            Subject::Run(run) => Some(About::Run(run)),
            Subject::Lock(name, fence) => Some(About::Lock { name, fence }),
            Subject::Worker(id) => {
                let known = self.worker_ids.get(&id).map(|worker| &self.workers[*worker].name);
                let name = known.or_else(|| self.keys.worker(id).map(|it| &it.name));
                name.cloned().map(|name| About::Worker { id, name })
            }
            Subject::Token(id) => self.token(id),
            Subject::NewToken => match answer {
                Answer::TokenCreated(id) => self.token(*id),
                Answer::Done
                | Answer::Exchanged
                | Answer::Registered(_)
                | Answer::Submitted { .. }
                | Answer::Silent(_)
                | Answer::Refused(_)
                | Answer::Denied(_) => None,
            },
        }
    }

    fn token(&self, id: TokenId) -> Option<About> {
        let name = self.keys.token(id)?.token.name.clone();
        Some(About::Token { id, name })
    }
}

/// What is told of a request; nothing of those that nobody asks for in person.
fn subject(request: &Request) -> Option<(Act, Subject)> {
    match request {
        Request::Submit(submit) => Some((Act::Submit, Subject::Run(submit.run))),
        Request::Cancel { run, .. } => Some((Act::Cancel, Subject::Run(*run))),
        Request::Register(register) | Request::Join { register, .. } => {
            Some((Act::Join, Subject::Worker(register.worker)))
        }
        Request::Drain { worker } => Some((Act::Drain, Subject::Worker(*worker))),
        Request::RevokeWorker { worker } => Some((Act::RevokeWorker, Subject::Worker(*worker))),
        Request::ForceRelease { lock, fence } => {
            Some((Act::ForceRelease, Subject::Lock(lock.clone(), *fence)))
        }
        Request::CreateToken(_) => Some((Act::CreateToken, Subject::NewToken)),
        Request::RevokeToken { token } => Some((Act::RevokeToken, Subject::Token(*token))),
        Request::Lead { .. }
        | Request::Embargo { .. }
        | Request::Exchange(_)
        | Request::GuardEnded { .. }
        | Request::Condemn { .. }
        | Request::Crewed { .. }
        | Request::Seal { .. }
        | Request::Silent
        | Request::Tick
        | Request::Asked { .. } => None,
    }
}

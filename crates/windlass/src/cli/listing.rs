//! What commands that list something of a cluster have in common.

use serde_json::Value;
use windlass_core::engine::Engine;
use windlass_core::time::Time;

use super::context::Context;
use super::error::CliError;
use super::output::{self, Table};
use super::reading::{Controller, ControllerArgs, Local, folder, nobody_to_ask, runtime, segment};
use crate::local::system_now;

/// What each of them takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    controller: ControllerArgs,
}

/// What a controller lists.
pub(crate) struct Listing {
    /// Where it does.
    pub(crate) path: &'static str,
    /// What the store of the folder that one stands in has of it, where no controller is named and none leads there. Without it
    /// there has to be one.
    pub(crate) kept: Option<fn(&Engine) -> Vec<Value>>,
    /// What is said if there is nothing.
    pub(crate) nothing: &'static str,
    /// For one that comes in pages: how many make one, and which field says where the next goes on.
    pub(crate) pages: Option<(usize, &'static str)>,
    /// In which order it is shown.
    pub(crate) sort: fn(&mut [Value]),
    /// As a table.
    pub(crate) table: fn(&[Value], Time) -> Table,
}

impl Listing {
    /// Asks for it and prints it.
    pub(crate) fn print(&self, args: &ListArgs, context: &Context) -> Result<u8, CliError> {
        let mut objects = runtime()?.block_on(self.asked(args, context))?;
        (self.sort)(&mut objects);
        if args.json {
            return Ok(output::objects(&objects));
        }
        if objects.is_empty() {
            output::talk(self.nothing);
            return Ok(0);
        }
        let table = (self.table)(&objects, system_now());
        Ok(output::data(&table.lines(&context.out).join("\n")))
    }

    async fn asked(&self, args: &ListArgs, context: &Context) -> Result<Vec<Value>, CliError> {
        if let Some(controller) = args.controller.found(context)? {
            return self.all(&controller).await;
        }
        let Some(kept) = self.kept else { return Err(nobody_to_ask()) };
        let local = Local::open(context, folder(None, context)?)?;
        Ok(kept(local.engine().await?))
    }

    async fn all(&self, controller: &Controller) -> Result<Vec<Value>, CliError> {
        let Some((page, place)) = self.pages else { return controller.get(self.path).await };
        let mut objects: Vec<Value> = Vec::new();
        loop {
            let after = objects.last().and_then(|last| last[place].as_str());
            let after = after.map(|after| format!("&after={}", segment(after)));
            let path = format!("{}?limit={page}{}", self.path, after.unwrap_or_default());
            let more: Vec<Value> = controller.get(&path).await?;
            let is_last = more.len() < page;
            objects.extend(more);
            if is_last {
                return Ok(objects);
            }
        }
    }
}

/// The order in which it is told.
pub(crate) const fn as_told(_: &mut [Value]) {}

//! What commands that list something of a cluster have in common.

use serde_json::Value;
use windlass_core::engine::Engine;
use windlass_core::time::Time;

use super::context::CommandContext;
use super::error::CliError;
use super::output::{self, TextTable};
use super::run_source::{
    ClusterClient, ControllerArgs, LocalRunSource, folder, no_controller_error, runtime, segment,
};
use crate::embedded::system_now;

/// What each of them takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    controller: ControllerArgs,
}

/// What a controller lists.
pub(crate) struct ClusterList {
    /// Where it does.
    pub(crate) path: &'static str,
    /// What the store of the folder that one stands in has of it, where no controller is named and none leads there. Without it
    /// there has to be one.
    pub(crate) from_store: Option<fn(&Engine) -> Vec<Value>>,
    /// What is said if there is nothing.
    pub(crate) empty_message: &'static str,
    /// For one that comes in pages: how many make one, and which field says where the next goes on.
    pub(crate) pages: Option<(usize, &'static str)>,
    /// In which order it is shown.
    pub(crate) sort: fn(&mut [Value]),
    /// As a table.
    pub(crate) table: fn(&[Value], Time) -> TextTable,
}

impl ClusterList {
    /// Asks for it and prints it.
    pub(crate) fn print(
        &self,
        args: &ClusterListArgs,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let mut objects = runtime()?.block_on(self.fetch(args, context))?;
        (self.sort)(&mut objects);
        if args.json {
            return Ok(output::print_json_lines(&objects));
        }
        if objects.is_empty() {
            output::print_message(self.empty_message);
            return Ok(0);
        }
        let table = (self.table)(&objects, system_now());
        Ok(output::print_data(&table.lines(&context.out).join("\n")))
    }

    async fn fetch(
        &self,
        args: &ClusterListArgs,
        context: &CommandContext,
    ) -> Result<Vec<Value>, CliError> {
        if let Some(controller) = args.controller.named_or_local(context)? {
            return self.fetch_pages(&controller).await;
        }
        let Some(kept) = self.from_store else { return Err(no_controller_error()) };
        let local = LocalRunSource::open(context, folder(None, context)?)?;
        Ok(kept(local.engine().await?))
    }

    async fn fetch_pages(&self, controller: &ClusterClient) -> Result<Vec<Value>, CliError> {
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
pub(crate) const fn as_received(_: &mut [Value]) {}

//! Shared parts of the commands that list something of a cluster.

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

/// The arguments of each of them.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    controller: ControllerArgs,
}

/// A list that a controller serves.
pub(crate) struct ClusterList {
    /// Its path in the API.
    pub(crate) path: &'static str,
    /// Reads the list from the store of this folder when no controller is named and none leads there. Without it, a
    /// controller is required.
    pub(crate) from_store: Option<fn(&Engine) -> Vec<Value>>,
    /// The message for an empty list.
    pub(crate) empty_message: &'static str,
    /// For a paged list: the page size, and the field that names the next page.
    pub(crate) pages: Option<(usize, &'static str)>,
    /// Sorts the rows.
    pub(crate) sort: fn(&mut [Value]),
    /// Renders them as a table.
    pub(crate) table: fn(&[Value], Time) -> TextTable,
}

impl ClusterList {
    /// Fetches the list and prints it.
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

/// Keeps the order of the answer.
pub(crate) const fn as_received(_: &mut [Value]) {}

// BullMQ on a Redis: `node bullmq.js rate|rate-tuned|waits URL JOBS` prints the same lines as `stopwatch.rs` for the
// others.
//
// Workers are separate processes, like `windlass worker`. Clocks are compared across processes, which the monotonic
// clock of Linux allows.
'use strict';

const { fork } = require('node:child_process');
const { Queue, Worker } = require('bullmq');

const WITHIN_MS = 110_000;
const BATCH = 1_000;
const REST_MS = 5;

const [what, url, jobs] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const at = new URL(url);
const connection = { host: at.hostname, port: Number(at.port) };
const seconds = () => Number(process.hrtime.bigint()) / 1e9;
const rest = (ms) => new Promise((done) => setTimeout(done, ms));

/** A process that works, so many jobs at a time, and tells its parent when each was started. */
function work(concurrency) {
  let started = [];
  const tell = () => {
    if (started.length > 0) process.send(started);
    started = [];
  };
  const handler = async () => {
    started.push(seconds());
    // Prints one by one if each job is waited for, and together if there are many.
    if (concurrency === 1 || started.length >= BATCH) tell();
  };
  const options = { connection, concurrency, removeOnComplete: { count: 0 } };
  const worker = new Worker('bench', handler, options);
  setInterval(tell, 50);
  worker.waitUntilReady().then(() => process.send('ready'));
}

/** Workers that are ready, and what they tell. */
async function crew(processes, concurrency, told) {
  const environment = { ...process.env, WORKER_OF_BENCH: String(concurrency) };
  const workers = Array.from({ length: processes }, () =>
    fork(__filename, process.argv.slice(2), { env: environment }));
  await Promise.all(workers.map((worker) => new Promise((ready) => {
    worker.on('message', (message) => (message === 'ready' ? ready() : told(message)));
  })));
  return workers;
}

async function drained(queue) {
  for (;;) {
    const left = await queue.getJobCounts('wait', 'active');
    if (left.wait + left.active === 0) return;
    await rest(10);
  }
}

async function rate(queue, tuned) {
  const began = seconds();
  const data = { removeOnComplete: true };
  if (tuned) {
    for (let put = 0; put < jobs; put += BATCH) {
      const size = Math.min(BATCH, jobs - put);
      await queue.addBulk(Array.from({ length: size }, () => ({ name: 'noop', data: {}, opts: data })));
    }
  } else {
    for (let put = 0; put < jobs; put += 1) await queue.add('noop', {}, data);
  }
  const put = seconds() - began;
  let first = Infinity;
  await crew(tuned ? 2 : 1, tuned ? 64 : 1, (started) => {
    for (const time of started) first = Math.min(first, time);
  });
  await drained(queue);
  const over = seconds();
  await rest(100);
  const took = over - first;
  console.log([put + took, put, took].map((it) => (jobs / it).toFixed(0)).join(' '));
}

async function waits(queue) {
  let came = () => {};
  await crew(1, 1, (started) => came(started[0]));
  const took = [];
  for (let job = 0; job < jobs; job += 1) {
    await rest(REST_MS);
    const start = new Promise((resolve) => { came = resolve; });
    const began = seconds();
    await queue.add('noop', {}, { removeOnComplete: true });
    took.push(((await start) - began) * 1e3);
  }
  took.sort((a, b) => a - b);
  const percentile = (percent) => took[Math.min(took.length - 1, Math.floor(took.length * percent / 100))];
  console.log(`${percentile(50).toFixed(3)} ${percentile(99).toFixed(3)}`);
}

async function main() {
  const queue = new Queue('bench', { connection });
  await queue.obliterate({ force: true });
  if (what === 'waits') await waits(queue);
  else await rate(queue, what === 'rate-tuned');
}

const concurrency = process.env.WORKER_OF_BENCH;
if (concurrency === undefined) {
  setTimeout(() => { console.error(`bullmq: ${what} took too long`); process.exit(1); }, WITHIN_MS).unref();
  main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
} else {
  // A worker ends with its parent.
  process.on('disconnect', () => process.exit(0));
  work(Number(concurrency));
}

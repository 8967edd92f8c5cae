// The nine operations of the matrix, whatever SDK does them, for agents that all do as they are
// told: ours, and those on the SDKs. What came of them is reported to NUNCIO_INTEROP_REPORT, as
// interop/python/matrix/report.py says.

import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';

import { receive } from './webhook.js';

/**
 * What a client sees of a task; its state is in the words of 1.0, without their prefix.
 * @typedef {{id: string, context: string, state: string, text: string}} Seen
 */

/**
 * What a stream tells: which task, its last state, and what was made of it meanwhile.
 * @typedef {{task: string, state: string, text: string}} Told
 */

/**
 * One client of an SDK: a binding in a version. An error that the agent gave has the name that
 * A2A has for it.
 * @typedef {{
 *   binding: string,
 *   version: string,
 *   send(text: string, more?: {task?: Seen, wait?: boolean}): Promise<Seen | string>,
 *   stream(text: string): Promise<Told>,
 *   leave(text: string): Promise<string>,
 *   subscribe(task: string): Promise<Told>,
 *   get(task: string): Promise<Seen>,
 *   list(context: string): Promise<Seen[]>,
 *   cancel(task: string): Promise<Seen>,
 *   setWebhook(task: string, url: string, token: string): Promise<string>,
 *   extendedCard(headers: Record<string, string>): Promise<string>,
 *   nameOf(error: Error): string,
 * }} Client
 */

// Far longer than any operation takes.
const PATIENCE_MS = 60_000;

// How a card for those that the agent knows describes it.
const EXTENDED = 'does more for those it knows';

const TOKEN = 't0ken';

// How many pieces a task has that somebody comes back to, a hundred in a second.
const COUNTS = [50, 300, 1500];

/** The header that opens the extended card of an agent that is called directly. */
const KEY = { 'X-API-Key': process.env.NUNCIO_INTEROP_KEY ?? '' };

/** @type {Record<string, (client: Client, way: string) => Promise<void>>} */
const CASES = {
  async send(client) {
    const { state, text } = await taskOf(client, 'hello');
    assert.deepEqual([state, text], ['COMPLETED', 'hello']);
    assert.equal(await client.send('message:hello'), 'hello');
    const asks = await taskOf(client, 'ask');
    assert.equal(asks.state, 'INPUT_REQUIRED');
    const done = await taskOf(client, 'this one', { task: asks });
    assert.deepEqual([done.id, done.state, done.text], [asks.id, 'COMPLETED', 'this one']);
  },

  async stream(client) {
    const { state, text } = await client.stream('count:5');
    assert.deepEqual([state, text], ['COMPLETED', counted(5)]);
  },

  async subscribe(client) {
    for (const count of COUNTS) {
      const id = await client.leave(`count:${count}`);
      /** @type {Told} */
      let told;
      try {
        told = await client.subscribe(id);
      } catch (error) {
        // Who comes back too late is refused; a longer task is still at work.
        if (count === COUNTS.at(-1)) throw error;
        continue;
      }
      assert.deepEqual([told.task, told.state], [id, 'COMPLETED']);
      assert.equal((await client.get(id)).text, counted(count));
      return;
    }
  },

  async get(client) {
    const sent = await taskOf(client, 'hello');
    assert.deepEqual(await client.get(sent.id), sent);
  },

  async list(client) {
    const sent = await taskOf(client, 'hello');
    const listed = await client.list(sent.context);
    assert.deepEqual(listed.map(({ id }) => id), [sent.id]);
  },

  async cancel(client) {
    const { id } = await taskOf(client, 'hold', { wait: false });
    assert.equal((await client.cancel(id)).state, 'CANCELED');
    assert.equal((await client.get(id)).state, 'CANCELED');
  },

  async push(client) {
    const receiver = await receive();
    try {
      const asks = await taskOf(client, 'ask');
      assert.equal(await client.setWebhook(asks.id, receiver.url, TOKEN), receiver.url);
      await taskOf(client, 'this one', { task: asks });
      await untilCompleted(receiver, asks.id);
    } finally {
      receiver.stop();
    }
  },

  async 'extended card'(client, way) {
    const headers = way === 'direct' && KEY['X-API-Key'] ? KEY : {};
    assert.equal(await client.extendedCard(headers), EXTENDED);
  },

  async errors(client) {
    await refused(client, client.get('nobody-has-this'), 'TaskNotFound');
    await refused(client, client.cancel('nobody-has-this'), 'TaskNotFound');
    const { id } = await taskOf(client, 'hello');
    await refused(client, client.cancel(id), 'TaskNotCancelable');
  },
};

/**
 * What `count:N` gives.
 * @param {number} count
 */
function counted(count) {
  return Array.from({ length: count }, (_, index) => `${index} `).join('');
}

/**
 * Sends a text that becomes a task.
 * @param {Client} client
 * @param {string} text
 * @param {{task?: Seen, wait?: boolean}} [more]
 * @returns {Promise<Seen>}
 */
async function taskOf(client, text, more) {
  const answer = await client.send(text, more);
  if (typeof answer === 'string') assert.fail(`no task, but the message ${answer}`);
  return answer;
}

/**
 * Waits for the delivery that tells that a task is completed: in 0.3 it is the task.
 * @param {Awaited<ReturnType<typeof receive>>} receiver
 * @param {string} task
 */
async function untilCompleted(receiver, task) {
  for (;;) {
    const { headers, body } = await receiver.next();
    assert.equal(headers['x-a2a-notification-token'], TOKEN);
    const about = body.task ?? body.statusUpdate ?? body.artifactUpdate ?? body;
    assert.equal(about.taskId ?? about.id, task);
    if (['TASK_STATE_COMPLETED', 'completed'].includes(about.status?.state)) return;
  }
}

/**
 * Requires that a call is refused.
 * @param {Client} client
 * @param {Promise<unknown>} call
 * @param {string} name
 */
async function refused(client, call, name) {
  /** @type {unknown} */
  let answer;
  try {
    answer = await call;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    assert.equal(client.nameOf(error), name, `${error}`);
    return;
  }
  assert.fail(`not ${name}, but ${JSON.stringify(answer)}`);
}

/**
 * Waits for an operation, and returns what is wrong.
 * @param {Promise<void> | undefined} operation
 * @returns {Promise<string | null>}
 */
async function problemOf(operation) {
  /** @type {NodeJS.Timeout | undefined} */
  let alarm;
  const late = new Promise((_, reject) => {
    const error = new Error(`took longer than ${PATIENCE_MS / 1000} s`);
    alarm = setTimeout(() => reject(error), PATIENCE_MS);
  });
  try {
    await Promise.race([operation, late]);
    return null;
  } catch (error) {
    return `${error}`.slice(0, 600);
  } finally {
    clearTimeout(alarm);
  }
}

/**
 * Does all operations side by side, and reports what came of them.
 * @param {Client} client
 * @param {{peer: string, sdk: string, way: string}} who
 */
export async function check(client, who) {
  const { binding, version } = client;
  const names = Object.keys(CASES);
  const problems = await Promise.all(names.map((name) => problemOf(CASES[name]?.(client, who.way))));
  const report = process.env.NUNCIO_INTEROP_REPORT;
  for (const [index, operation] of names.entries()) {
    const line = { ...who, role: 'client', binding, version, operation, problem: problems[index] };
    if (report) appendFileSync(report, `${JSON.stringify(line)}\n`);
  }
}

/**
 * Calls the agents that the command line names, WAY=URL each. Callers of 0.3 have no word for
 * the agent behind a shared gRPC endpoint, as the hub's is.
 * @param {{peer: string, sdk: string}} who
 * @param {[string, string][]} offered bindings and versions
 * @param {(url: string, binding: string, version: string) => Promise<Client>} connect
 */
export async function callAll(who, offered, connect) {
  for (const target of process.argv.slice(2)) {
    const [, way = '', url = ''] = /^([^=]*)=(.*)$/.exec(target) ?? [];
    for (const [binding, version] of offered) {
      if (way.startsWith('hub') && binding === 'GRPC' && version === '0.3') continue;
      await check(await connect(url, binding, version), { ...who, way });
    }
  }
  // Some connections stay open.
  process.exit();
}

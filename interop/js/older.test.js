// The last official JavaScript SDK of A2A 0.3 as a client of our server. It finds the card where
// it is for everybody, and reads only what 0.3 has put there.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';

import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from 'a2a-v0_3/client';
import { GrpcTransportFactory } from 'a2a-v0_3/client/grpc';

import { THROUGH, offers, start } from './agent.js';
import { receive } from './webhook.js';

/** @typedef {import('a2a-v0_3').Task} Task */
/** @typedef {import('a2a-v0_3').Part} Part */

const TRANSPORTS = {
  JSONRPC: () => new JsonRpcTransportFactory(),
  'HTTP+JSON': () => new RestTransportFactory(),
  GRPC: () => new GrpcTransportFactory(),
};

/** @type {Awaited<ReturnType<typeof start>>} */
let agent;
before(async () => {
  agent = await start();
});
after(() => agent.stop());

for (const binding of /** @type {(keyof typeof TRANSPORTS)[]} */ (Object.keys(TRANSPORTS))) {
  if (!offers(binding, '0.3')) continue;
  describe(`@a2a-js/sdk 0.3.14${THROUGH}, ${binding} 0.3`, () => suite(binding));
}

/** @param {keyof typeof TRANSPORTS} binding */
function suite(binding) {
  /** @type {import('a2a-v0_3/client').Client} */
  let client;
  before(async () => {
    const factory = new ClientFactory({ transports: [TRANSPORTS[binding]()] });
    client = await factory.createFromUrl(agent.url);
  });

  /** @param {ReturnType<typeof saying>} request */
  async function send(request) {
    const answer = await client.sendMessage(request);
    assert.equal(answer.kind, 'task');
    return /** @type {Task} */ (answer);
  }

  test('a message becomes a task', async () => {
    const task = await send(saying('tck-artifact-text'));
    assert.equal(task.status.state, 'completed');
    assert.deepEqual(texts(task.artifacts?.[0]?.parts), ['Generated text content']);
  });

  test('a message may be answered without a task', async () => {
    const answer = await client.sendMessage(saying('tck-message-response'));
    assert.ok(answer.kind === 'message');
    assert.deepEqual(texts(answer.parts), ['Direct message response']);
  });

  test('a file comes back', async () => {
    const task = await send(saying('tck-artifact-file'));
    const part = task.artifacts?.[0]?.parts[0];
    assert.ok(part?.kind === 'file' && 'bytes' in part.file);
    assert.equal(Buffer.from(part.file.bytes, 'base64').toString(), 'tck');
  });

  test('a task may ask and go on', async () => {
    const asks = await send(saying('tck-input-required'));
    assert.equal(asks.status.state, 'input-required');
    const done = await send(saying('tck-complete-task', asks));
    assert.deepEqual([done.id, done.status.state], [asks.id, 'completed']);
    const kept = await client.getTask({ id: asks.id, historyLength: 10 });
    const said = kept.history?.filter((message) => message.role === 'user');
    assert.equal(said?.length, 2);
  });

  test('a task is cancelled', async () => {
    const request = { ...saying('tck-cancel'), configuration: { blocking: false } };
    const { id } = await send(request);
    assert.equal((await client.cancelTask({ id })).status.state, 'canceled');
  });

  test('a stream tells a task from start to end, and says that it does', async () => {
    const events = await all(client.sendMessageStream(saying('tck-stream-001')));
    assert.equal(events[0].kind, 'task');
    assert.ok(events.some((event) => event.kind === 'artifact-update'));
    const last = events.at(-1);
    assert.deepEqual([last.kind, last.status.state, last.final], [
      'status-update',
      'completed',
      true,
    ]);
  });

  test('a stream ends when the task asks', async () => {
    const events = await all(client.sendMessageStream(saying('tck-input-required')));
    const last = events.at(-1);
    assert.deepEqual([last.status.state, last.final ?? true], ['input-required', true]);
  });

  test('subscribers see a task end', async () => {
    const sent = client.sendMessageStream(saying('tck-cancel'));
    const { id } = /** @type {Task} */ ((await sent.next()).value);
    const streams = [0, 1].map(() => client.resubscribeTask({ id }));
    for (const stream of streams) await stream.next();
    await client.cancelTask({ id });
    for (const stream of [sent, ...streams]) {
      assert.equal((await all(stream)).at(-1).status.state, 'canceled');
    }
  });

  test('a webhook is set, read, listed, deleted and called', async () => {
    const receiver = await receive();
    try {
      const task = await send(saying('tck-input-required'));
      const authentication = { schemes: ['Bearer'], credentials: 's3cret' };
      const config = { id: 'hook', url: receiver.url, token: 't0ken', authentication };
      const set = { taskId: task.id, pushNotificationConfig: config };
      await client.setTaskPushNotificationConfig(set);
      const named = { id: task.id, pushNotificationConfigId: 'hook' };
      const kept = await client.getTaskPushNotificationConfig(named);
      assert.equal(kept.pushNotificationConfig.url, receiver.url);
      const other = { ...set, pushNotificationConfig: { ...config, id: 'other' } };
      await client.setTaskPushNotificationConfig(other);
      await client.deleteTaskPushNotificationConfig({ ...named, pushNotificationConfigId: 'other' });
      const listed = await client.listTaskPushNotificationConfig({ id: task.id });
      assert.deepEqual(listed.map((each) => each.pushNotificationConfig.id), ['hook']);
      await send(saying('tck-complete-task', task));
      for (;;) {
        const { headers, body } = await receiver.next();
        assert.equal(headers.authorization, 'Bearer s3cret');
        assert.equal(headers['x-a2a-notification-token'], 't0ken');
        assert.deepEqual([body.kind, body.id], ['task', task.id]);
        if (body.status.state === 'completed') break;
      }
    } finally {
      receiver.stop();
    }
  });

  test('what is refused is told by its kind', async () => {
    await assert.rejects(client.getTask({ id: 'nobody-has-this' }), called('TaskNotFoundError'));
    const stream = client.resubscribeTask({ id: 'nobody-has-this' });
    await assert.rejects(all(stream), called('TaskNotFoundError'));
    const { id } = await send(saying('tck-complete-task'));
    await assert.rejects(client.cancelTask({ id }), called('TaskNotCancelableError'));
    const late = client.resubscribeTask({ id });
    await assert.rejects(all(late), called('UnsupportedOperationError'));
  });

  test('a hundred send and fifty stream at once', async () => {
    const sent = Array.from({ length: 100 }, () => send(saying('tck-artifact-text')));
    const open = Array.from({ length: 50 }, () => all(client.sendMessageStream(saying('slow'))));
    const tasks = await Promise.all(sent);
    assert.equal(new Set(tasks.map(({ id }) => id)).size, 100);
    const ends = (await Promise.all(open)).map((events) => events.at(-1).status.state);
    assert.deepEqual([...new Set(ends)], ['completed']);
  });
}

/**
 * @param {string} scene
 * @param {Task} [task]
 */
function saying(scene, task) {
  return {
    message: {
      kind: /** @type {const} */ ('message'),
      messageId: `${scene}-${randomUUID()}`,
      role: /** @type {const} */ ('user'),
      parts: [{ kind: /** @type {const} */ ('text'), text: 'Hello' }],
      taskId: task?.id,
      contextId: task?.contextId,
    },
  };
}

/**
 * @param {AsyncIterable<any>} stream
 * @returns {Promise<any[]>}
 */
async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** @param {Part[] | undefined} parts */
function texts(parts) {
  return (parts ?? []).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
}

/**
 * Accepts errors of a name. On JSON-RPC the SDK has names of its own for them, and in streams
 * gives them as the cause of others.
 * @param {string} name
 */
function called(name) {
  return (/** @type {Error} */ error) => {
    const names = [error, error.cause].map((found) => found?.constructor.name);
    if (names.some((found) => found?.replace('JSONRPC', '') === name)) return true;
    return assert.fail(`not ${name} but ${error.constructor.name}: ${error.message}`);
  };
}

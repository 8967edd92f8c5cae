// The official JavaScript SDK as a client of our server, on each binding in each version.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { TaskState } from '@a2a-js/sdk';

import { THROUGH, offers, start } from './agent.js';
import { CARDS, TRANSPORTS, all, connect, credulous, saying, send, state } from './peer.js';
import { states, task as taskOf, texts, updates } from './peer.js';
import { receive } from './webhook.js';

/** @typedef {import('@a2a-js/sdk').Task} Task */

const NOBODY = /** @type {Task} */ ({ id: 'nobody-has-this', contextId: 'nor-this' });

// What SDKs of 0.3 do not offer.
const LACKS = 'A2A 0.3 has no lists of tasks';

// Never called.
const ELSEWHERE = 'https://example.com/hook';

/** @type {Awaited<ReturnType<typeof start>>} */
let agent;
before(async () => {
  agent = await start();
});
after(() => agent.stop());

for (const version of /** @type {(keyof typeof CARDS)[]} */ (Object.keys(CARDS).sort().reverse())) {
  for (const binding of /** @type {(keyof typeof TRANSPORTS)[]} */ (Object.keys(TRANSPORTS))) {
    if (!offers(binding, version)) continue;
    describe(`@a2a-js/sdk 1.3.0${THROUGH}, ${binding} ${version}`, () => suite(binding, version));
  }
}

/**
 * @param {keyof typeof TRANSPORTS} binding
 * @param {keyof typeof CARDS} version
 */
function suite(binding, version) {
  // In protobuf of 0.3 the SDK reads neither the names of files nor that a chunk is appended.
  const isForgetful = version === '0.3' && binding !== 'JSONRPC';
  /** @type {Awaited<ReturnType<typeof connect>>} */
  let client;
  before(async () => {
    client = await connect(agent.url, binding, version);
  });

  test('the card is found, and leads to this binding and version', async () => {
    assert.equal(client.transport.protocolName, binding);
    assert.match(client.protocolVersion, new RegExp(`^${version}`));
    const card = await client.getAgentCard();
    assert.equal(card.name, 'conformance');
    assert.equal(card.capabilities?.streaming, true);
    assert.deepEqual(card.skills.map((skill) => skill.id), ['tck']);
  });

  test('a message becomes a task', async () => {
    const task = await send(client, saying('tck-artifact-text'));
    assert.equal(state(task), 'COMPLETED');
    assert.deepEqual(texts(task.artifacts[0]?.parts), ['Generated text content']);
  });

  test('a status has its message', async () => {
    const task = await send(client, saying('tck-complete-task'));
    assert.deepEqual(texts(task.status?.message?.parts), ['Hello from TCK']);
  });

  test('a message may be answered without a task', async () => {
    const answer = await client.sendMessage(saying('tck-message-response'));
    assert.ok('messageId' in answer);
    assert.deepEqual(texts(answer.parts), ['Direct message response']);
  });

  test('files and data come back', async () => {
    const made = async (/** @type {string} */ scene) =>
      (await send(client, saying(scene))).artifacts[0]?.parts[0];
    const file = await made('tck-artifact-file');
    assert.deepEqual(file?.content, { $case: 'raw', value: Buffer.from('tck') });
    const filename = isForgetful ? '' : 'output.txt';
    assert.deepEqual([file?.filename, file?.mediaType], [filename, 'text/plain']);
    const link = await made('tck-artifact-file-url');
    assert.deepEqual(link?.content, { $case: 'url', value: 'https://example.com/output.txt' });
    const data = await made('tck-artifact-data');
    assert.deepEqual(data?.content, { $case: 'data', value: { key: 'value', count: 42 } });
  });

  test('files and data are kept', async () => {
    const request = saying('tck-complete-task', {
      parts: [
        { text: 'Ünïcode \u2028 und \u{1f600}' },
        {
          raw: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('base64'),
          filename: 'bytes.bin',
          mediaType: 'application/octet-stream',
        },
        { url: 'https://example.com/in.txt', filename: 'in.txt', mediaType: 'text/plain' },
        { data: { deep: [1, null, { x: 0.5 }] } },
      ],
    });
    const { id } = await send(client, request);
    const kept = await client.getTask({ tenant: '', id });
    const contents = kept.history[0]?.parts.map((part) => part.content);
    assert.deepEqual(contents, request.message?.parts.map((part) => part.content));
  });

  test('a caller need not wait', async () => {
    let task = await send(client, saying('slow', { configuration: { returnImmediately: true } }));
    assert.ok(['SUBMITTED', 'WORKING'].includes(state(task)), state(task));
    for (let tries = 0; state(task) !== 'COMPLETED' && tries < 200; tries += 1) {
      await sleep(50);
      task = await client.getTask({ tenant: '', id: task.id });
    }
    assert.equal(state(task), 'COMPLETED');
  });

  test('a task may ask and go on', async () => {
    const asks = await send(client, saying('tck-input-required', { parts: [{ text: 'one' }] }));
    assert.equal(state(asks), 'INPUT_REQUIRED');
    const answer = saying('tck-complete-task', { parts: [{ text: 'two' }], task: asks });
    const done = await send(client, answer);
    assert.equal(done.id, asks.id);
    assert.equal(state(done), 'COMPLETED');
    const kept = await client.getTask({ tenant: '', id: asks.id });
    const said = kept.history.filter((message) => message.role === 1);
    assert.deepEqual(said.flatMap((message) => texts(message.parts)), ['one', 'two']);
    const last = await client.getTask({ tenant: '', id: asks.id, historyLength: 1 });
    assert.equal(last.history.length, 1);
  });

  test('a task may fail', async () => {
    assert.equal(state(await send(client, saying('tck-task-failure'))), 'FAILED');
    assert.equal(state(await send(client, saying('tck-reject-task'))), 'REJECTED');
  });

  test('a task is cancelled', async () => {
    const request = saying('tck-cancel', { configuration: { returnImmediately: true } });
    const { id } = await send(client, request);
    const cancelled = await client.cancelTask({ tenant: '', id, metadata: undefined });
    assert.equal(state(cancelled), 'CANCELED');
    assert.equal(state(await client.getTask({ tenant: '', id })), 'CANCELED');
  });

  test('tasks are listed by page and state', { skip: version === '0.3' && LACKS }, async () => {
    const context = randomUUID();
    const sent = [];
    for (let count = 0; count < 5; count += 1) {
      sent.push((await send(client, saying('tck-artifact-text', { context }))).id);
    }
    const asks = await send(client, saying('tck-input-required', { context }));
    const listed = [];
    const sizes = [];
    for (let pageToken = ''; ; ) {
      const filter = { contextId: context, status: TaskState.TASK_STATE_COMPLETED };
      const rest = { tenant: '', pageSize: 2, statusTimestampAfter: undefined };
      const page = await client.listTasks({ ...rest, ...filter, pageToken });
      assert.equal(page.totalSize, 5);
      sizes.push(page.tasks.length);
      listed.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
      if (!pageToken) break;
    }
    assert.deepEqual(sizes, [2, 2, 1]);
    assert.deepEqual(listed, sent.reverse());
    assert.ok(!listed.includes(asks.id));
  });

  test('a stream tells a task from start to end', async () => {
    const events = await all(client.sendMessageStream(saying('tck-stream-001')));
    const { id } = taskOf(events[0]);
    assert.deepEqual(states(events).slice(-2), ['WORKING', 'COMPLETED']);
    const made = updates(events);
    assert.deepEqual(made.map((update) => update.taskId), [id]);
    assert.deepEqual(texts(made[0]?.artifact?.parts), ['Stream hello from TCK']);
  });

  test('an artifact comes in chunks', async () => {
    const events = await all(client.sendMessageStream(saying('tck-stream-artifact-chunked')));
    const told = updates(events).map(({ artifact, append, lastChunk }) => [
      ...texts(artifact?.parts),
      append,
      lastChunk,
    ]);
    assert.deepEqual(told, [
      ['chunk-1 ', false, false],
      ['chunk-2', !isForgetful, true],
    ]);
  });

  test('a reply is a stream of one', async () => {
    const events = await all(client.sendMessageStream(saying('tck-message-response')));
    assert.deepEqual(events.map(({ payload }) => payload?.$case), ['message']);
  });

  test('a stream ends when the task asks, and another goes on', async () => {
    const events = await all(client.sendMessageStream(saying('tck-input-required')));
    assert.equal(states(events).at(-1), 'INPUT_REQUIRED');
    const task = taskOf(events[0]);
    const more = await all(client.sendMessageStream(saying('tck-stream-001', { task })));
    assert.equal(taskOf(more[0]).id, task.id);
    assert.equal(states(more).at(-1), 'COMPLETED');
  });

  test('subscribers see a task end', async () => {
    const sent = client.sendMessageStream(saying('tck-cancel'));
    const { id } = taskOf((await sent.next()).value ?? undefined);
    const streams = [0, 1, 2].map(() => client.resubscribeTask({ tenant: '', id }));
    for (const stream of streams) {
      assert.equal(taskOf((await stream.next()).value ?? undefined).id, id);
    }
    await client.cancelTask({ tenant: '', id, metadata: undefined });
    for (const stream of [sent, ...streams]) {
      assert.equal(states(await all(stream)).at(-1), 'CANCELED');
    }
  });

  test('a dropped stream is taken up again', async () => {
    const sent = client.sendMessageStream(saying('slow'));
    const { id } = taskOf((await sent.next()).value ?? undefined);
    await sent.return();
    const events = await all(client.resubscribeTask({ tenant: '', id }));
    assert.equal(taskOf(events[0]).id, id);
    assert.equal(states(events).at(-1), 'COMPLETED');
  });

  test('settings of webhooks are kept, listed and deleted', async () => {
    const { id: taskId } = await send(client, saying('tck-input-required'));
    for (const id of ['first', 'second']) {
      const made = await client.createTaskPushNotificationConfig(hook(taskId, id, ELSEWHERE));
      assert.deepEqual([made.id, made.url], [id, ELSEWHERE]);
    }
    const named = { tenant: '', taskId, id: 'first' };
    const kept = await client.getTaskPushNotificationConfig(named);
    assert.deepEqual([kept.taskId, kept.id, kept.url], [taskId, 'first', ELSEWHERE]);
    const list = async () => {
      const page = { tenant: '', taskId, pageSize: 0, pageToken: '' };
      const { configs } = await client.listTaskPushNotificationConfig(page);
      return configs.map((config) => config.id).sort();
    };
    assert.deepEqual(await list(), ['first', 'second']);
    await client.deleteTaskPushNotificationConfig(named);
    await client.deleteTaskPushNotificationConfig(named);
    assert.deepEqual(await list(), ['second']);
    await assert.rejects(client.getTaskPushNotificationConfig(named), called('TaskNotFoundError'));
  });

  test('a webhook is called with its secrets', async () => {
    const receiver = await receive();
    try {
      const task = await send(client, saying('tck-input-required'));
      await client.createTaskPushNotificationConfig(hook(task.id, 'hook', receiver.url));
      await send(client, saying('tck-complete-task', { task }));
      await completed(receiver, version);
    } finally {
      receiver.stop();
    }
  });

  test('a webhook may come with the message', async () => {
    const receiver = await receive();
    try {
      const taskPushNotificationConfig = hook('', 'hook', receiver.url);
      const configuration = { taskPushNotificationConfig };
      await send(client, saying('tck-complete-task', { configuration }));
      await completed(receiver, version);
    } finally {
      receiver.stop();
    }
  });

  test('an unknown task is not found', async () => {
    const { id } = NOBODY;
    const missing = called('TaskNotFoundError');
    await assert.rejects(client.getTask({ tenant: '', id }), missing);
    await assert.rejects(client.cancelTask({ tenant: '', id, metadata: undefined }), missing);
    const more = saying('tck-complete-task', { task: NOBODY });
    await assert.rejects(client.sendMessage(more), missing);
    await assert.rejects(all(client.sendMessageStream(more)), missing);
    await assert.rejects(all(client.resubscribeTask({ tenant: '', id })), missing);
  });

  test('a finished task stays finished', async () => {
    const task = await send(client, saying('tck-complete-task'));
    const cancel = client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    await assert.rejects(cancel, called('TaskNotCancelableError'));
    const unsupported = called('UnsupportedOperationError');
    const more = saying('tck-complete-task', { task });
    await assert.rejects(client.sendMessage(more), unsupported);
    await assert.rejects(all(client.sendMessageStream(more)), unsupported);
    const subscribe = client.resubscribeTask({ tenant: '', id: task.id });
    await assert.rejects(all(subscribe), unsupported);
  });

  test('a message needs parts', async () => {
    const empty = saying('tck-complete-task', { parts: [] });
    await assert.rejects(client.sendMessage(empty), called('RequestMalformedError'));
  });

  test('a media type must be on the card', async () => {
    const parts = [{ raw: 'eA==', mediaType: 'application/x-unsupported-tck-type' }];
    const sent = client.sendMessage(saying('tck-complete-task', { parts }));
    await assert.rejects(sent, called('ContentTypeNotSupportedError'));
  });

  test('there is no extended card', async () => {
    const asking = await credulous(agent.url, binding, version);
    await assert.rejects(asking.getAgentCard(), called('UnsupportedOperationError'));
  });

  test('a hundred send at once', async () => {
    const sent = Array.from({ length: 100 }, () => send(client, saying('tck-artifact-text')));
    const tasks = await Promise.all(sent);
    assert.equal(new Set(tasks.map(({ id }) => id)).size, 100);
    assert.deepEqual([...new Set(tasks.map(state))], ['COMPLETED']);
  });

  test('fifty stream at once', async () => {
    const open = Array.from({ length: 50 }, () => all(client.sendMessageStream(saying('slow'))));
    const streams = await Promise.all(open);
    assert.equal(new Set(streams.map((events) => taskOf(events[0]).id)).size, 50);
    assert.deepEqual([...new Set(streams.map((events) => states(events).at(-1)))], ['COMPLETED']);
  });
}

/**
 * @param {string} taskId
 * @param {string} id
 * @param {string} url
 */
function hook(taskId, id, url) {
  const authentication = { scheme: 'Bearer', credentials: 's3cret' };
  return { tenant: '', taskId, id, url, token: 't0ken', authentication };
}

/**
 * Waits until the webhook is told that the task is completed.
 * @param {Awaited<ReturnType<typeof receive>>} receiver
 * @param {string} version
 */
async function completed(receiver, version) {
  for (;;) {
    const { headers, body } = await receiver.next();
    assert.equal(headers.authorization, 'Bearer s3cret');
    assert.equal(headers['x-a2a-notification-token'], 't0ken');
    const { status } = version === '0.3' ? body : (body.task ?? body.statusUpdate);
    if (['completed', 'TASK_STATE_COMPLETED'].includes(status.state)) return;
  }
}

/**
 * Accepts errors of a name, on whatever binding they came. In streams of 0.3 the SDK gives them
 * as the cause of others.
 * @param {string} name
 */
function called(name) {
  return (/** @type {Error} */ error) => {
    for (let at = error.cause ?? error; at; at = Object.getPrototypeOf(at)) {
      if (at.constructor?.name === name) return true;
    }
    return assert.fail(`not ${name} but ${error.name}: ${error.message}`);
  };
}

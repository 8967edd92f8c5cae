// Calls agents with the official JavaScript SDK, on each binding in each version.
// Usage: node calling-current.js WAY=URL...

import { callAll } from './calling.js';
import { CARDS, TRANSPORTS, all, connect, state, states } from './peer.js';
import { saying, texts } from './peer.js';
import { sdkVersion } from './versions.js';

/** @typedef {import('@a2a-js/sdk').Task} Task */
/** @typedef {import('@a2a-js/sdk').StreamResponse} StreamResponse */
/** @typedef {import('./calling.js').Seen} Seen */

const OFFERED = Object.keys(CARDS).flatMap((version) =>
  Object.keys(TRANSPORTS).map((binding) => /** @type {[string, string]} */ ([binding, version])),
);

/**
 * @param {Task} task
 * @returns {Seen}
 */
function seen(task) {
  const text = task.artifacts.flatMap(({ parts }) => texts(parts)).join('');
  return { id: task.id, context: task.contextId, state: state(task), text };
}

/** @param {StreamResponse | undefined} event */
function taskIn(event) {
  const payload = event?.payload;
  if (payload?.$case === 'task') return payload.value.id;
  if (!payload || payload.$case === 'message') throw new Error(`no task in ${payload?.$case}`);
  return payload.value.taskId;
}

/** @param {AsyncIterable<StreamResponse>} stream */
async function told(stream) {
  const events = await all(stream);
  const made = events.flatMap(({ payload }) => {
    if (payload?.$case === 'task') return payload.value.artifacts;
    return payload?.$case === 'artifactUpdate' ? [payload.value.artifact] : [];
  });
  const text = made.flatMap((artifact) => texts(artifact?.parts)).join('');
  return { task: taskIn(events[0]), state: states(events).at(-1) ?? '', text };
}

/**
 * @param {string} url
 * @param {string} binding
 * @param {string} version
 * @returns {Promise<import('./calling.js').Client>}
 */
async function caller(url, binding, version) {
  const transport = /** @type {keyof typeof TRANSPORTS} */ (binding);
  const card = /** @type {keyof typeof CARDS} */ (version);
  const client = await connect(url, transport, card);
  return {
    binding,
    version,
    async send(text, { task, wait = true } = {}) {
      const named = task && /** @type {Task} */ ({ id: task.id, contextId: task.context });
      const configuration = { returnImmediately: !wait };
      const request = saying('m', { parts: [{ text }], task: named, configuration });
      const answer = await client.sendMessage(request);
      return 'messageId' in answer ? texts(answer.parts).join('') : seen(answer);
    },
    stream: (text) => told(client.sendMessageStream(saying('m', { parts: [{ text }] }))),
    async leave(text) {
      const stream = client.sendMessageStream(saying('m', { parts: [{ text }] }));
      const first = (await stream.next()).value ?? undefined;
      await stream.return();
      return taskIn(first);
    },
    subscribe: (id) => told(client.resubscribeTask({ tenant: '', id })),
    get: async (id) => seen(await client.getTask({ tenant: '', id })),
    async list(contextId) {
      const filter = { contextId, status: 0, statusTimestampAfter: undefined };
      const page = await client.listTasks({ tenant: '', pageSize: 10, pageToken: '', ...filter });
      return page.tasks.map(seen);
    },
    cancel: async (id) => seen(await client.cancelTask({ tenant: '', id, metadata: undefined })),
    async setWebhook(taskId, hook, token) {
      const config = { tenant: '', taskId, id: 'hook', url: hook, token };
      const made = await client.createTaskPushNotificationConfig({
        ...config,
        authentication: undefined,
      });
      return made.url;
    },
    async extendedCard(serviceParameters) {
      return (await client.getAgentCard({ serviceParameters })).description;
    },
    nameOf(error) {
      const at = error.cause instanceof Error ? error.cause : error;
      return at.name.replace(/Error$/, '');
    },
  };
}

await callAll({ peer: 'js', sdk: sdkVersion('@a2a-js/sdk') }, OFFERED, caller);

// Calls agents with the last official JavaScript SDK of A2A 0.3, on each binding.
// Usage: node calling-older.js WAY=URL...

import { randomUUID } from 'node:crypto';

import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from 'a2a-v0_3/client';
import { GrpcTransportFactory } from 'a2a-v0_3/client/grpc';

import { callAll } from './calling.js';
import { sdkVersion } from './versions.js';

/** @typedef {import('a2a-v0_3').Task} Task */
/** @typedef {import('a2a-v0_3').Part} Part */
/** @typedef {import('./calling.js').Seen} Seen */

const TRANSPORTS = {
  JSONRPC: () => new JsonRpcTransportFactory(),
  'HTTP+JSON': () => new RestTransportFactory(),
  GRPC: () => new GrpcTransportFactory(),
};

/**
 * @param {string} text
 * @param {Seen} [task]
 */
function saying(text, task) {
  return {
    kind: /** @type {const} */ ('message'),
    messageId: randomUUID(),
    role: /** @type {const} */ ('user'),
    parts: [{ kind: /** @type {const} */ ('text'), text }],
    taskId: task?.id,
    contextId: task?.context,
  };
}

/** @param {Part[]} parts */
function textIn(parts) {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

/** @param {string} state */
function named(state) {
  return state.toUpperCase().replace('-', '_');
}

/**
 * @param {Task} task
 * @returns {Seen}
 */
function seen({ id, contextId, status, artifacts }) {
  const text = (artifacts ?? []).map(({ parts }) => textIn(parts)).join('');
  return { id, context: contextId, state: named(status.state), text };
}

/** @param {AsyncIterable<any>} stream */
async function told(stream) {
  let [task, state, text] = ['', '', ''];
  for await (const event of stream) {
    task ||= event.kind === 'task' ? event.id : event.taskId;
    if (event.status) state = named(event.status.state);
    const made = event.kind === 'task' ? (event.artifacts ?? []) : [event.artifact];
    for (const artifact of made) text += artifact ? textIn(artifact.parts) : '';
  }
  return { task, state, text };
}

/**
 * @param {string} url
 * @param {string} binding
 * @param {string} version
 * @returns {Promise<import('./calling.js').Client>}
 */
async function caller(url, binding, version) {
  const transport = TRANSPORTS[/** @type {keyof typeof TRANSPORTS} */ (binding)];
  const factory = new ClientFactory({ transports: [transport()] });
  const client = await factory.createFromUrl(url);
  return {
    binding,
    version,
    async send(text, { task, wait = true } = {}) {
      const message = saying(text, task);
      const answer = await client.sendMessage({ message, configuration: { blocking: wait } });
      return answer.kind === 'message' ? textIn(answer.parts) : seen(answer);
    },
    stream: (text) => told(client.sendMessageStream({ message: saying(text) })),
    async leave(text) {
      const stream = client.sendMessageStream({ message: saying(text) });
      const event = /** @type {any} */ ((await stream.next()).value);
      await stream.return();
      return event.kind === 'task' ? event.id : event.taskId;
    },
    subscribe: (id) => told(client.resubscribeTask({ id })),
    get: async (id) => seen(await client.getTask({ id })),
    list: async () => {
      throw new Error('A2A 0.3 has no ListTasks');
    },
    cancel: async (id) => seen(await client.cancelTask({ id })),
    async setWebhook(taskId, hook, token) {
      const pushNotificationConfig = { id: 'hook', url: hook, token };
      const made = await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig });
      return made.pushNotificationConfig.url;
    },
    async extendedCard(serviceParameters) {
      return (await client.getAgentCard({ serviceParameters })).description;
    },
    // On JSON-RPC the SDK has names of its own for errors, and gives them as the cause of others.
    nameOf(error) {
      const names = [error.cause, error].map((found) => found?.constructor.name ?? '');
      const name = names.find((found) => /^Task/.test(found)) ?? names[1] ?? '';
      return name.replace(/(JSONRPC)?Error$/, '');
    },
  };
}

/** @type {[string, string][]} */
const OFFERED = Object.keys(TRANSPORTS).map((binding) => [binding, '0.3']);

await callAll({ peer: 'js-older', sdk: sdkVersion('a2a-v0_3') }, OFFERED, caller);

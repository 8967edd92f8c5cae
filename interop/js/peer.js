// Clients of the SDK: a binding in a version each.

import { randomUUID } from 'node:crypto';

import { ClientFactory, DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { SendMessageRequest, TaskState } from '@a2a-js/sdk';

/** @typedef {import('@a2a-js/sdk').Task} Task */
/** @typedef {import('@a2a-js/sdk').Part} Part */
/** @typedef {import('@a2a-js/sdk').StreamResponse} StreamResponse */
/** @typedef {import('@a2a-js/sdk/client').Client} Client */

const legacyCompat = { enabled: true };

export const TRANSPORTS = {
  JSONRPC: () => new JsonRpcTransportFactory({ legacyCompat }),
  'HTTP+JSON': () => new RestTransportFactory({ legacyCompat }),
  GRPC: () => new GrpcTransportFactory({ legacyCompat }),
};

/** Where a card is that names one version first: the usual place, which is asked by a header. */
export const CARDS = { '1.0': undefined, '0.3': '.well-known/agent.json' };

/**
 * Makes a client from the card at a URL.
 * @param {string} url
 * @param {keyof typeof TRANSPORTS} binding
 * @param {keyof typeof CARDS} version
 */
export async function connect(url, binding, version) {
  return factory(binding).createFromUrl(url, CARDS[version]);
}

/**
 * Makes a client that believes that there is an extended card.
 * @param {string} url
 * @param {keyof typeof TRANSPORTS} binding
 * @param {keyof typeof CARDS} version
 */
export async function credulous(url, binding, version) {
  const card = await resolver.resolve(url, CARDS[version]);
  const capabilities = { extensions: [], ...card.capabilities, extendedAgentCard: true };
  return factory(binding).createFromAgentCard({ ...card, capabilities });
}

const resolver = new DefaultAgentCardResolver({ legacyCompat });

/** @param {keyof typeof TRANSPORTS} binding */
function factory(binding) {
  return new ClientFactory({ transports: [TRANSPORTS[binding]()], cardResolver: resolver });
}

/**
 * Returns a message that asks the agent for a scene. Parts are in the JSON of 1.0.
 * @param {string} scene
 * @param {{parts?: object[], task?: Task, context?: string, configuration?: object}} [more]
 */
export function saying(scene, { parts, task, context, configuration } = {}) {
  return SendMessageRequest.fromJSON({
    message: {
      messageId: `${scene}-${randomUUID()}`,
      role: 'ROLE_USER',
      parts: parts ?? [{ text: 'Hello' }],
      taskId: task?.id,
      contextId: task?.contextId ?? context,
    },
    configuration: configuration ?? {},
  });
}

/**
 * Sends a message that becomes a task.
 * @param {Client} client
 * @param {SendMessageRequest} request
 * @returns {Promise<Task>}
 */
export async function send(client, request) {
  const answer = await client.sendMessage(request);
  if (!('status' in answer)) throw new Error(`no task but ${JSON.stringify(answer)}`);
  return answer;
}

/**
 * Reads a stream to its end.
 * @param {AsyncIterable<StreamResponse>} stream
 */
export async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** @param {Task | undefined} task */
export function state(task) {
  return TaskState[task?.status?.state ?? TaskState.UNRECOGNIZED].replace('TASK_STATE_', '');
}

/**
 * Returns the states that events tell of.
 * @param {StreamResponse[]} events
 */
export function states(events) {
  const told = events.flatMap(({ payload }) =>
    payload?.$case === 'task' || payload?.$case === 'statusUpdate'
      ? [payload.value.status?.state ?? TaskState.UNRECOGNIZED]
      : [],
  );
  return told.map((name) => TaskState[name].replace('TASK_STATE_', ''));
}

/**
 * Returns the task that an event is.
 * @param {StreamResponse | undefined} event
 * @returns {Task}
 */
export function task(event) {
  if (event?.payload?.$case !== 'task') throw new Error(`no task but ${JSON.stringify(event)}`);
  return event.payload.value;
}

/**
 * Returns the artifact updates among events.
 * @param {StreamResponse[]} events
 */
export function updates(events) {
  return events.flatMap(({ payload }) =>
    payload?.$case === 'artifactUpdate' ? [payload.value] : [],
  );
}

/**
 * Returns the texts of parts.
 * @param {Part[] | undefined} parts
 */
export function texts(parts) {
  return (parts ?? []).flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []));
}

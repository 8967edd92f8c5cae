// An agent on the last official JavaScript SDK of A2A 0.3, on JSON-RPC, HTTP+JSON and gRPC.
// Prints `listening on URL`, ends when its input does.

import { randomUUID } from 'node:crypto';

import grpc from '@grpc/grpc-js';
import express from 'express';
import { DefaultExecutionEventBusManager, DefaultRequestHandler } from 'a2a-v0_3/server';
import { InMemoryPushNotificationStore, InMemoryTaskStore } from 'a2a-v0_3/server';
import { agentCardHandler, jsonRpcHandler, restHandler } from 'a2a-v0_3/server/express';
import { UserBuilder } from 'a2a-v0_3/server/express';
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from 'a2a-v0_3/server/grpc';

import { Running, hear, listen, listenGrpc, messageIn, ready, steps } from './serving-script.js';

/** @typedef {import('a2a-v0_3').Message} Message */
/** @typedef {import('a2a-v0_3').Task} Task */
/** @typedef {import('a2a-v0_3').TaskState} TaskState */
/** @typedef {import('a2a-v0_3').TaskStatusUpdateEvent} TaskStatusUpdateEvent */

/** @type {Map<string, string>} */
const contexts = new Map();
const running = new Running();

/** @type {import('a2a-v0_3/server').AgentExecutor} */
const agent = {
  async execute(request, bus) {
    const { taskId, contextId, userMessage } = request;
    const text = userMessage.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
    hear(text);
    const said = messageIn(text);
    if (said !== undefined) {
      bus.publish(message(contextId, said));
      bus.finished();
      return;
    }
    contexts.set(taskId, contextId);
    if (!request.task) bus.publish(begun(taskId, contextId, userMessage));
    bus.publish(status(taskId, contextId, 'working'));
    const cancelled = running.begin(taskId);
    for await (const step of steps(text, cancelled)) {
      if ('ask' in step) {
        bus.publish(status(taskId, contextId, 'input-required', message(contextId, step.ask)));
        bus.finished();
        return;
      }
      bus.publish({
        kind: 'artifact-update',
        taskId,
        contextId,
        artifact: { artifactId: 'out', parts: [{ kind: 'text', text: step.piece }] },
        append: step.append,
        lastChunk: step.last,
      });
    }
    if (!cancelled.aborted) bus.publish(status(taskId, contextId, 'completed'));
    bus.finished();
  },

  async cancelTask(taskId, bus) {
    bus.publish(status(taskId, contexts.get(taskId) ?? '', 'canceled'));
    running.end(taskId);
  },
};

/**
 * @param {string} id
 * @param {string} contextId
 * @param {Message} asked
 * @returns {Task}
 */
function begun(id, contextId, asked) {
  return { kind: 'task', id, contextId, status: { state: 'submitted' }, history: [asked] };
}

/**
 * @param {string} taskId
 * @param {string} contextId
 * @param {TaskState} state
 * @param {Message} [question]
 * @returns {TaskStatusUpdateEvent}
 */
function status(taskId, contextId, state, question) {
  const timestamp = new Date().toISOString();
  const now = { state, timestamp, message: question };
  return { kind: 'status-update', taskId, contextId, status: now, final: state !== 'working' };
}

/**
 * @param {string} contextId
 * @param {string} text
 * @returns {Message}
 */
function message(contextId, text) {
  const parts = [{ kind: /** @type {const} */ ('text'), text }];
  return { kind: 'message', messageId: randomUUID(), contextId, role: 'agent', parts };
}

const { server, url } = await listen();
const grpcServer = new grpc.Server();
const grpcUrl = await listenGrpc(grpcServer);
/** @type {import('a2a-v0_3').AgentCard} */
const card = {
  name: 'older JavaScript agent',
  description: 'does as it is told',
  version: '1',
  protocolVersion: '0.3.0',
  url: `${url}/rpc`,
  preferredTransport: 'JSONRPC',
  additionalInterfaces: [
    { url: `${url}/rpc`, transport: 'JSONRPC' },
    { url: `${url}/rest`, transport: 'HTTP+JSON' },
    { url: grpcUrl, transport: 'GRPC' },
  ],
  capabilities: { streaming: true, pushNotifications: true },
  supportsAuthenticatedExtendedCard: true,
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'echo', name: 'echo', description: 'says it back', tags: ['echo'] }],
};
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  agent,
  new DefaultExecutionEventBusManager(),
  new InMemoryPushNotificationStore(),
  undefined,
  // A card instead of a function would be for those only that are authenticated.
  async () => ({ ...card, description: 'does more for those it knows' }),
);
const userBuilder = UserBuilder.noAuthentication;
const app = express();
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }));
app.use('/rest', restHandler({ requestHandler, userBuilder }));
server.on('request', app);
grpcServer.addService(
  A2AService,
  grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }),
);
ready(url);

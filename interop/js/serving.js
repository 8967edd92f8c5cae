// An agent on the official JavaScript SDK, on JSON-RPC, HTTP+JSON and gRPC, in A2A 1.0.
// Prints `listening on URL`, ends when its input does.

import { randomUUID } from 'node:crypto';

import grpc from '@grpc/grpc-js';
import express from 'express';
import { AgentCard, Message, Task, TaskArtifactUpdateEvent } from '@a2a-js/sdk';
import { TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { AgentEvent, DefaultExecutionEventBusManager } from '@a2a-js/sdk/server';
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { InMemoryPushNotificationStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import { UserBuilder } from '@a2a-js/sdk/server/express';
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from '@a2a-js/sdk/server/grpc';

import { Running, hear, listen, listenGrpc, messageIn, ready, steps } from './serving-script.js';

/** @typedef {import('@a2a-js/sdk/server').ExecutionEventBus} Bus */
/** @typedef {import('@a2a-js/sdk/server').RequestContext} Request */

/** @type {Map<string, string>} */
const contexts = new Map();
const running = new Running();

/** @type {import('@a2a-js/sdk/server').AgentExecutor} */
const agent = {
  async execute(request, bus) {
    const { taskId, contextId, userMessage } = request;
    const text = userMessage.parts
      .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
      .join('');
    hear(text);
    const said = messageIn(text);
    if (said !== undefined) {
      bus.publish(AgentEvent.message(message(contextId, said)));
      return;
    }
    contexts.set(taskId, contextId);
    bus.publish(AgentEvent.task(request.task ?? begun(request)));
    bus.publish(status(taskId, contextId, 'TASK_STATE_WORKING'));
    const cancelled = running.begin(taskId);
    for await (const step of steps(text, cancelled)) {
      if ('ask' in step) {
        const question = message(contextId, step.ask);
        bus.publish(status(taskId, contextId, 'TASK_STATE_INPUT_REQUIRED', question));
        return;
      }
      const artifact = { artifactId: 'out', parts: [{ text: step.piece }] };
      const update = { taskId, contextId, artifact, append: step.append, lastChunk: step.last };
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(update)));
    }
    if (!cancelled.aborted) bus.publish(status(taskId, contextId, 'TASK_STATE_COMPLETED'));
  },

  async cancelTask(taskId, bus) {
    bus.publish(status(taskId, contexts.get(taskId) ?? '', 'TASK_STATE_CANCELED'));
    running.end(taskId);
  },
};

/** @param {Request} request */
function begun({ taskId, contextId, userMessage }) {
  const task = { id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } };
  return { ...Task.fromJSON(task), history: [userMessage] };
}

/**
 * @param {string} taskId
 * @param {string} contextId
 * @param {string} state
 * @param {Message} [question]
 */
function status(taskId, contextId, state, question) {
  const timestamp = new Date().toISOString();
  const update = TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state, timestamp } });
  if (update.status) update.status.message = question;
  return AgentEvent.statusUpdate(update);
}

/**
 * @param {string} contextId
 * @param {string} text
 */
function message(contextId, text) {
  const said = { messageId: randomUUID(), contextId, role: 'ROLE_AGENT', parts: [{ text }] };
  return Message.fromJSON(said);
}

const { server, url } = await listen();
const grpcServer = new grpc.Server();
const grpcUrl = await listenGrpc(grpcServer);
const described = {
  name: 'JavaScript agent',
  description: 'does as it is told',
  version: '1',
  supportedInterfaces: [
    { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: grpcUrl, protocolBinding: 'GRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'echo', name: 'echo', description: 'says it back', tags: ['echo'] }],
};
const card = AgentCard.fromJSON(described);
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

// The echo agent of the benchmarks (`bench/peers`) on the official JavaScript SDK. It is here
// because the SDK is. Reads PORT, GRPC_PORT and STORE (memory) from the environment.

import grpc from '@grpc/grpc-js';
import express from 'express';
import { AGENT_CARD_PATH, AgentCard, Task, TaskArtifactUpdateEvent } from '@a2a-js/sdk';
import { TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express';
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from '@a2a-js/sdk/server/grpc';

const chunk = '0123456789abcdef'.repeat(2);

/** @type {import('@a2a-js/sdk/server').AgentExecutor} */
const agent = {
  async execute({ taskId, contextId, userMessage }, bus) {
    /** @param {string} state */
    const say = (state) => {
      const status = { state, timestamp: new Date().toISOString() };
      const update = TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status });
      bus.publish(AgentEvent.statusUpdate(update));
    };
    /** @type {(text: string, append: boolean, lastChunk: boolean) => void} */
    const bring = (text, append, lastChunk) => {
      const artifact = { artifactId: 'out', parts: [{ text }] };
      const update = { taskId, contextId, artifact, append, lastChunk };
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(update)));
    };
    const begun = { id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } };
    bus.publish(AgentEvent.task({ ...Task.fromJSON(begun), history: [userMessage] }));
    say('TASK_STATE_WORKING');
    const content = userMessage.parts[0]?.content;
    const text = content?.$case === 'text' ? content.value : '';
    if (text.startsWith('hold')) await new Promise(() => {});
    if (text.startsWith('chunks:')) {
      const count = Number(text.slice('chunks:'.length));
      for (let index = 0; index < count; index++) {
        await new Promise((resume) => setImmediate(resume));
        bring(chunk, index > 0, index + 1 === count);
      }
    } else {
      bring(text, false, true);
    }
    say('TASK_STATE_COMPLETED');
  },

  async cancelTask(taskId, bus) {
    const update = { taskId, contextId: '', status: { state: 'TASK_STATE_CANCELED' } };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(update)));
  },
};

if ((process.env['STORE'] ?? 'memory') !== 'memory') {
  console.error('this agent keeps its tasks in memory only');
  process.exit(1);
}
const port = Number(process.env['PORT']);
const card = AgentCard.fromJSON({
  name: 'echo',
  description: 'says it back',
  version: '1',
  supportedInterfaces: [
    { url: `http://127.0.0.1:${port}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'echo', name: 'echo', description: 'says it back', tags: ['echo'] }],
});
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);

const grpcServer = new grpc.Server();
const userBuilder = GrpcUserBuilder.noAuthentication;
grpcServer.addService(A2AService, grpcService({ requestHandler, userBuilder }));
const grpcAddress = `127.0.0.1:${process.env['GRPC_PORT']}`;
grpcServer.bindAsync(grpcAddress, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});

const app = express();
app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.listen(port, '127.0.0.1', 4096);

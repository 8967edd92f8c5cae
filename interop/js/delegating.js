// Lets the official TypeScript SDK of MCP use our tools, over both transports. NUNCIO is the
// built program.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const program = process.env.NUNCIO ?? '';
const home = mkdtempSync(join(tmpdir(), 'nuncio-'));
const environment = { HOME: home, PATH: process.env.PATH ?? '' };

/** @type {import('node:child_process').ChildProcess} */
let hub;
let url = '';
let key = '';

before(async () => {
  hub = spawn(program, ['up', '--demo', '--port', '0'], {
    env: environment,
    cwd: home,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  assert(hub.stderr);
  for await (const line of createInterface(hub.stderr)) {
    if (line.startsWith('listening on ')) {
      url = line.slice('listening on '.length).trim();
      break;
    }
  }
  hub.stderr?.resume();
  key = readFileSync(join(home, '.local/share/nuncio/hub/admin.key'), 'utf8').trim();
});

after(() => {
  hub?.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

/** @type {Record<string, (skills: boolean) => any>} */
const transports = {
  stdio: (skills) =>
    new StdioClientTransport({
      command: program,
      args: skills ? ['mcp', '--tools', 'skills'] : ['mcp'],
      env: environment,
      cwd: home,
    }),
  HTTP: (skills) =>
    new StreamableHTTPClientTransport(new URL(`${url}/mcp${skills ? '?tools=skills' : ''}`), {
      requestInit: { headers: { Authorization: `Bearer ${key}` } },
    }),
};

for (const [name, transport] of Object.entries(transports)) {
  describe(`@modelcontextprotocol/sdk, ${name}`, () => {
    /** @type {Client} */
    let client;
    before(async () => {
      client = await connected(transport(false));
      // The SDK checks structured content against the schemas that it has listed.
      await client.listTools();
    });
    after(() => client.close());

    /**
     * @param {string} tool
     * @param {Record<string, unknown>} args
     * @returns {Promise<any>}
     */
    async function call(tool, args) {
      const result = await client.callTool({ name: tool, arguments: args });
      assert(!result.isError, JSON.stringify(result.content));
      return result.structuredContent;
    }

    it('lists the tools', async () => {
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map((tool) => tool.name),
        ['list_agents', 'delegate_to_a2a_agent', 'delegate_async', 'task_status', 'reply', 'cancel'],
      );
    });

    it('finds agents', async () => {
      const found = await call('list_agents', { capability: 'writing' });
      assert.deepEqual(found.agents.map((/** @type {any} */ agent) => agent.name), ['writer']);
    });

    it('has work done', async () => {
      const report = await call('delegate_to_a2a_agent', { agent: 'echo', task: 'hello' });
      assert.equal(report.status, 'completed');
      assert.equal(report.artifacts[0].content, 'hello');
    });

    it('is told how long work goes', async () => {
      /** @type {number[]} */
      const told = [];
      const order = { agent: 'writer', task: 'otters quickly' };
      const result = /** @type {any} */ (
        await client.callTool({ name: 'delegate_to_a2a_agent', arguments: order }, undefined, {
          onprogress: ({ progress }) => told.push(progress),
          resetTimeoutOnProgress: true,
        })
      );
      assert.match(result.structuredContent.artifacts[0].content, /So much for otters\.$/);
      assert(told.length >= 3, `${told}`);
    });

    it('answers questions', async () => {
      const asked = await call('delegate_to_a2a_agent', { agent: 'approver', task: 'buy a boat' });
      assert.equal(asked.status, 'input-required');
      const done = await call('reply', { task_id: asked.task_id, message: 'yes' });
      assert.equal(done.status, 'completed');
      assert.equal(done.task_id, asked.task_id);
    });

    it('sees a failed task as an error', async () => {
      let failed = 0;
      for (let count = 0; count < 3; count += 1) {
        const order = { agent: 'flaky', task: 'try' };
        const result = await client.callTool({ name: 'delegate_to_a2a_agent', arguments: order });
        if (result.isError) failed += 1;
      }
      assert.equal(failed, 1);
    });

    it('looks at work later, and ends it', async () => {
      const begun = await call('delegate_async', { agent: 'writer', task: 'voles quickly' });
      const done = await call('task_status', { task_id: begun.task_id, wait_seconds: 50 });
      assert.equal(done.status, 'completed');
      const long = await call('delegate_async', { agent: 'writer', task: 'shrews' });
      const ended = await call('cancel', { task_id: long.task_id });
      assert.equal(ended.status, 'canceled');
    });

    it('ends the task of a request that it gives up', async () => {
      const known = (await canceled()).length;
      const giving = new AbortController();
      const order = { agent: 'writer', task: 'moles' };
      const calling = client.callTool({ name: 'delegate_to_a2a_agent', arguments: order }, undefined, {
        onprogress: () => giving.abort('enough'),
        signal: giving.signal,
      });
      await assert.rejects(calling);
      while ((await canceled()).length === known) await setTimeout(50);
    });

    it('has a tool for each skill', async () => {
      const skilled = await connected(transport(true));
      const { tools } = await skilled.listTools();
      assert(tools.some((tool) => tool.name === 'team-lead__coordinate'));
      const order = { name: 'team-lead__coordinate', arguments: { task: 'one two three' } };
      const result = /** @type {any} */ (await skilled.callTool(order));
      const text = 'team-a: 3 words\nteam-b: three two one';
      assert.equal(result.structuredContent.artifacts[0].content, text);
      await skilled.close();
    });
  });
}

/** @param {any} transport */
async function connected(transport) {
  const client = new Client({ name: 'interop', version: '1.0.0' });
  await client.connect(transport);
  return client;
}

/** @returns {Promise<unknown[]>} */
async function canceled() {
  const path = '/api/v1/tasks?agent=writer&state=canceled&limit=200';
  const answer = await fetch(url + path, { headers: { Authorization: `Bearer ${key}` } });
  const { tasks } = /** @type {{tasks: unknown[]}} */ (await answer.json());
  return tasks;
}

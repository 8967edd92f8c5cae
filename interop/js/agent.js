// The agent that is called: our built example, on a port of its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const READY = 'listening on ';

/**
 * Runs the agent that NUNCIO_AGENT names.
 * @returns {Promise<{url: string, stop: () => Promise<void>}>}
 */
export async function start() {
  const program = process.env.NUNCIO_AGENT;
  if (!program) throw new Error('NUNCIO_AGENT must name the built example `conformance`');
  const args = ['--port', '0', '--card', 'hybrid', '--allow-loopback-webhooks'];
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  for await (const line of createInterface({ input: child.stderr })) {
    if (!line.startsWith(READY)) continue;
    // Nobody reads on, and the agent must not block when it says more.
    child.stderr.resume();
    const stop = async () => {
      child.kill();
      await ended;
    };
    return { url: line.slice(READY.length), stop };
  }
  throw new Error('the agent ended before it listened');
}

// The agent that is called: our built example, on a port of its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const READY = 'listening on ';

/** Whether a hub carries the calls; NUNCIO_AGENT is the built example `carry` then. */
export const CARRIED = 'NUNCIO_CARRIED' in process.env;

/** What the titles of suites say of that. */
export const THROUGH = CARRIED ? ' through the hub' : '';

/**
 * Tells whether a binding is offered in a version. Callers of 0.3 have no word for the agent
 * behind a shared gRPC endpoint, as the hub's is.
 * @param {string} binding
 * @param {string} version
 */
export const offers = (binding, version) => !(CARRIED && binding === 'GRPC' && version === '0.3');

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
    // With a slash: the SDK takes the last part of a path for a file's name otherwise.
    return { url: `${line.slice(READY.length)}/`, stop };
  }
  throw new Error('the agent ended before it listened');
}

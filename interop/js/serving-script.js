// What the agents do whatever SDK they are built on, and how they are processes.

import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import grpc from '@grpc/grpc-js';

/** Slow enough that a stream can be cut and taken up again while the task works. */
const PAUSE_MS = 10;

/** @typedef {{piece: string, append: boolean, last: boolean} | {ask: string}} Step */

/** What is running, by task, to be ended by who cancels it. */
export class Running {
  /** @type {Map<string, AbortController>} */
  #tasks = new Map();

  /** @param {string} task */
  begin(task) {
    const controller = new AbortController();
    this.#tasks.set(task, controller);
    return controller.signal;
  }

  /** @param {string} task */
  end(task) {
    this.#tasks.get(task)?.abort();
    this.#tasks.delete(task);
  }
}

/**
 * Writes down that somebody said this, a line of JSON each time, if anybody counts.
 * @param {string} text
 */
export function hear(text) {
  const heard = process.env.NUNCIO_INTEROP_HEARD;
  if (heard) appendFileSync(heard, `${JSON.stringify(text)}\n`);
}

/**
 * What `message:` is to be answered with, without any task.
 * @param {string} text
 */
export function messageIn(text) {
  return text.startsWith('message:') ? text.slice('message:'.length) : undefined;
}

/**
 * Does what a text says: `count:N`, `ask`, `hold`; everything else is said back.
 * @param {string} text
 * @param {AbortSignal} cancelled
 * @returns {AsyncGenerator<Step>}
 */
export async function* steps(text, cancelled) {
  if (text === 'hold') {
    if (!cancelled.aborted) await once(cancelled, 'abort');
  } else if (text === 'ask') {
    yield { ask: 'which one?' };
  } else if (text.startsWith('count:')) {
    const count = Number(text.slice('count:'.length));
    for (let index = 0; index < count && !cancelled.aborted; index += 1) {
      yield { piece: `${index} `, append: index > 0, last: index + 1 === count };
      await sleep(PAUSE_MS);
    }
  } else {
    yield { piece: text, append: false, last: true };
  }
}

/** Opens a port for HTTP; what is served there is said later, when the card can name it. */
export async function listen() {
  // On a busy machine, a caller would meet connections that were closed for being idle.
  const server = createServer({ keepAliveTimeout: 300_000 });
  server.listen({ host: '127.0.0.1', port: 0, backlog: 1024 });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { server, url: `http://127.0.0.1:${address.port}` };
}

/**
 * Opens a port for gRPC.
 * @param {grpc.Server} server
 * @returns {Promise<string>}
 */
export function listenGrpc(server) {
  return new Promise((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, port) => {
      if (error) reject(error);
      else resolve(`127.0.0.1:${port}`);
    });
  });
}

/**
 * Says that all is ready, and ends with the input.
 * @param {string} url
 */
export function ready(url) {
  process.stdin.resume().on('end', () => process.exit());
  console.log(`listening on ${url}/`);
}

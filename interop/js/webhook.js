// A receiver of webhooks.

import { once } from 'node:events';
import { createServer } from 'node:http';

/** @typedef {{headers: import('node:http').IncomingHttpHeaders, body: any}} Delivery */

/**
 * Runs a receiver on a free port.
 * @returns {Promise<{url: string, next: () => Promise<Delivery>, stop: () => void}>}
 */
export async function receive() {
  /** @type {Delivery[]} */
  const deliveries = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    deliveries.push({ headers: request.headers, body });
    server.emit('delivery');
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}/hook`,
    async next() {
      for (;;) {
        const delivery = deliveries.shift();
        if (delivery) return delivery;
        await once(server, 'delivery');
      }
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

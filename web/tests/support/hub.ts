// A real hub with real agents, and the canvas in front of it, for one story.

import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { preview, type PreviewServer } from 'vite';

const BINARY = process.env['NUNCIO_BIN'] ?? 'nuncio';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
// What the program is expected to send with the canvas (A-UI).
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; " +
  "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** A program of ours that listens somewhere. */
class Program {
  private constructor(
    readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static start(args: string[], cwd: string): Promise<Program> {
    return new Promise((resolve, reject) => {
      const child = spawn(BINARY, args, {
        cwd,
        env: { ...process.env, XDG_CONFIG_HOME: cwd, XDG_DATA_HOME: cwd, HOME: cwd },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let said = '';
      const read = (piece: Buffer): void => {
        said += piece.toString();
        const url = /listening on (http:\S+)/.exec(said)?.[1];
        if (url) resolve(new Program(child, url));
      };
      child.stdout?.on('data', read);
      child.stderr?.on('data', read);
      child.on('error', reject);
      child.on('exit', (code) => reject(new Error(`${args[0]} ended with ${code}: ${said}`)));
    });
  }

  stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.child.exitCode !== null) return Promise.resolve();
    return new Promise((resolve) => {
      this.child.once('exit', () => resolve());
      this.child.kill(signal);
    });
  }
}

async function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

export class Hub {
  readonly #programs: Program[] = [];
  #hub: Program | undefined;
  #front: PreviewServer | undefined;
  /** Where a browser finds the canvas. */
  url = '';
  key = '';

  private constructor(
    readonly folder: string,
    readonly port: number,
  ) {}

  /** Starts a hub; `config` is its nuncio.yaml. */
  static async start(config = ''): Promise<Hub> {
    const folder = await mkdtemp(join(tmpdir(), 'nuncio-web-'));
    const hub = new Hub(folder, await freePort());
    await writeFile(join(folder, 'nuncio.yaml'), config || '{}\n');
    await hub.up();
    hub.key = (await readFile(join(folder, 'data', 'admin.key'), 'utf8')).trim();
    await hub.#face();
    return hub;
  }

  get api(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async up(): Promise<void> {
    const args = ['up', '--port', String(this.port), '--data-dir', join(this.folder, 'data')];
    this.#hub = await Program.start(args, this.folder);
  }

  /** Ends the hub as a power cut would. */
  async kill(): Promise<void> {
    await this.#hub?.stop();
  }

  /** The program may have the canvas in it; else it is served beside, in the same way. */
  async #face(): Promise<void> {
    const own = await fetch(`${this.api}/ui/`)
      .then((response) => response.text())
      .catch(() => '');
    if (own.includes('id="app"') && process.env['NUNCIO_UI'] !== 'dist') {
      this.url = `${this.api}/ui/`;
      return;
    }
    process.env['NUNCIO_HUB'] = this.api;
    this.#front = await preview({
      root: ROOT,
      logLevel: 'error',
      preview: { port: 0, headers: { 'content-security-policy': POLICY } },
    });
    this.url = this.#front.resolvedUrls?.local[0] ?? '';
  }

  /** Starts a scripted agent and brings it in. */
  async mock(script: string, more: Record<string, unknown> = {}): Promise<void> {
    await this.call('POST', '/api/v1/agents', { card_url: await this.agent(script), ...more });
  }

  /** Starts a scripted agent, of which the hub knows nothing; returns its URL. */
  async agent(script: string): Promise<string> {
    const file = join(this.folder, `mock-${this.#programs.length}.yaml`);
    await writeFile(file, script);
    const agent = await Program.start(['mock', file, '--port', '0'], this.folder);
    this.#programs.push(agent);
    return agent.url;
  }

  /** Calls the hub as its administrator. */
  async call<T>(method: string, path: string, body?: unknown, key = this.key): Promise<T> {
    const response = await fetch(this.api + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'a2a-version': '1.0',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** Says something to an agent, without waiting for the end. */
  async say(agent: string, text: string, key = this.key): Promise<{ id: string }> {
    const answer = await this.call<{ task: { id: string } }>(
      'POST',
      `/agents/${agent}/message:send`,
      {
        message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
        configuration: { returnImmediately: true },
      },
      key,
    );
    return answer.task;
  }

  /** Speaks for an agent that fetches its work: takes a task, and brings what came of it. */
  async bring(key: string, task: string, events: unknown[]): Promise<void> {
    await this.call('GET', '/api/v1/work?wait=20', undefined, key);
    await this.call('POST', `/api/v1/work/${task}/accept`, undefined, key);
    const body = { events: events.map((event, index) => ({ seq: index + 1, event })) };
    for (;;) {
      try {
        await this.call('POST', `/api/v1/work/${task}/events`, body, key);
        return;
      } catch (error) {
        // The hub says so itself: nobody waits for this yet, bring it again.
        if (!String(error).includes('NOT_EXPECTED')) throw error;
        // It says the same of what it has taken, if the task waits for a person then.
        const { state } = await this.call<{ state: string }>('GET', `/api/v1/tasks/${task}`);
        if (state.endsWith('REQUIRED')) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** A link that lets one browser in. */
  async login(): Promise<string> {
    const { url } = await this.call<{ url: string }>('POST', '/api/v1/login');
    const ticket = new URL(url).search;
    return new URL(`/login${ticket}`, this.url).href;
  }

  async stop(): Promise<void> {
    await this.#front?.close();
    await this.#hub?.stop();
    for (const program of this.#programs) await program.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

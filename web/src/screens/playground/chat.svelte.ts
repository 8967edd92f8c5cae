// A talk with an agent through the hub, with everything that goes over the wire.

import { fold, type Message, type Part, type StreamEvent, type Task } from '../../lib/a2a';
import { LONG_PATIENCE, Problem, reach, refusal } from '../../lib/api';
import { isOver } from '../../lib/format';
import { FrameReader, pause } from '../../lib/sse';
import {
  cancelCall,
  readEvent,
  resumeCall,
  streamCall,
  type Call,
  type Form,
} from '../../lib/wire';
import { WIRE } from './agent-leg.svelte';
import { prettyBody, type WireLine } from './wire-line';

/** A message and what came of it. */
export interface Turn {
  message: Message;
  task?: Task | undefined;
  reply?: Message | undefined;
  problem?: string | undefined;
}

export interface Happening {
  key: number;
  seq: string | undefined;
  /** When it came; of what came before, when it was said. */
  at: number | undefined;
  event: StreamEvent;
}

export type Line = 'idle' | 'sending' | 'streaming' | 'cut' | 'reconnecting';

/** Of very long talks the newest is listed. */
const LISTED = 3000;

export class Chat {
  turns = $state.raw<Turn[]>([]);
  events = $state.raw<Happening[]>([]);
  wire = $state.raw<WireLine[]>([]);
  line = $state<Line>('idle');
  lastSeq = $state<string>();

  #agent = '';
  #form: Form = { binding: 'JSONRPC', version: '1.0' };
  #cut: AbortController | undefined;
  #next = 0;

  get task(): Task | undefined {
    return this.turns.at(-1)?.task;
  }

  get contextId(): string | undefined {
    return this.turns.findLast((turn) => turn.task?.contextId ?? turn.reply?.contextId)?.task
      ?.contextId;
  }

  /** Whether the newest task waits for a word. */
  get isAsked(): boolean {
    return this.task !== undefined && /REQUIRED/.test(this.task.status.state);
  }

  get isOpen(): boolean {
    return this.task !== undefined && !isOver(this.task.status.state);
  }

  use(agent: string, form: Form): void {
    this.#agent = agent;
    this.#form = form;
  }

  clear(): void {
    this.cutOff();
    this.turns = [];
    this.events = [];
    this.wire = [];
    this.lastSeq = undefined;
    this.line = 'idle';
  }

  /** Goes on with a task that is there. */
  open(task: Task, past: Omit<Happening, 'key'>[]): void {
    this.clear();
    this.events = past.map((one) => ({ ...one, key: this.#next++ }));
    const first = task.history?.[0] ?? { messageId: '', role: 'ROLE_USER', parts: [] };
    const rest = { ...task, history: (task.history ?? []).slice(1) };
    this.turns = [{ message: first, task: rest }];
    if (!isOver(task.status.state) && !this.isAsked) this.resume();
  }

  send(parts: Part[], metadata: Record<string, unknown> | undefined): void {
    const message: Message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts };
    if (metadata) message.metadata = metadata;
    if (this.task && this.isAsked) message.taskId = this.task.id;
    const context = this.contextId;
    if (context) message.contextId = context;
    this.#begin(message);
  }

  /** Sends the same message again: the hub runs it once. */
  resend(): void {
    const last = this.turns.at(-1);
    if (!last) return;
    this.cutOff();
    this.turns = this.turns.slice(0, -1);
    this.#begin(last.message);
  }

  #begin(message: Message): void {
    const before = message.taskId ? this.task : undefined;
    this.turns = [
      ...this.turns,
      { message, task: before && { ...before, artifacts: [], history: [] } },
    ];
    this.lastSeq = undefined;
    const call = streamCall(this.#form, this.#agent, message);
    call.headers['Idempotency-Key'] = message.messageId;
    // So that the other leg can be seen, too.
    call.headers['A2A-Extensions'] = WIRE;
    void this.#run(call);
  }

  /** Cuts the line by hand; the task goes on without us. */
  cutOff(): void {
    this.#cut?.abort();
    this.#cut = undefined;
    if (this.line === 'streaming' || this.line === 'sending' || this.line === 'reconnecting') {
      this.line = 'cut';
      this.#note(`disconnected by hand after event ${this.lastSeq ?? 'none'}`);
    }
  }

  /** Goes on behind the last event that was seen. */
  resume(): void {
    if (!this.task) return;
    void this.#run(resumeCall(this.#form, this.#agent, this.task.id, this.lastSeq));
  }

  async cancel(): Promise<void> {
    if (!this.task) return;
    const call = cancelCall(this.#form, this.#agent, this.task.id);
    this.#out(call);
    const { response, text } = await reach(call.url, init(call), { patience: LONG_PATIENCE });
    this.#in(`HTTP ${response.status}`, text);
    if (!response.ok) throw await refusal(new Response(text, response));
    const event = readEvent(text);
    this.#apply(event);
    if (this.task && isOver(this.task.status.state) && this.line === 'cut') this.line = 'idle';
  }

  async #run(first: Call): Promise<void> {
    this.#cut?.abort();
    const cut = new AbortController();
    this.#cut = cut;
    this.line = 'sending';
    let call = first;
    for (let attempt = 0; !cut.signal.aborted; attempt += 1) {
      try {
        await this.#stream(call, cut.signal, () => (attempt = 0));
        if (cut.signal.aborted) return;
        if (!this.isOpen || this.isAsked || !this.task) {
          this.line = 'idle';
          return;
        }
        // The stream ended before the task: a proxy or a restart.
      } catch (error) {
        if (cut.signal.aborted) return;
        if (error instanceof Problem || !this.task) {
          this.#fail(error instanceof Error ? error.message : String(error));
          return;
        }
        this.#note(error instanceof Error ? error.message : 'the line broke');
      }
      this.line = 'reconnecting';
      await new Promise((resolve) => setTimeout(resolve, pause(attempt)));
      call = resumeCall(this.#form, this.#agent, this.task.id, this.lastSeq);
    }
  }

  async #stream(call: Call, signal: AbortSignal, onlive: () => void): Promise<void> {
    this.#out(call);
    const response = await fetch(call.url, { ...init(call), signal }).catch(() => {
      throw new Error('the hub does not answer');
    });
    const type = response.headers.get('content-type') ?? '';
    if (!response.ok || !type.includes('event-stream')) {
      const text = await response.text();
      this.#in(`HTTP ${response.status}`, text);
      if (!response.ok) throw await refusal(new Response(text, response));
      if (text) this.#apply(readEvent(text));
      return;
    }
    this.#in(`HTTP ${response.status}`, type);
    this.line = 'streaming';
    onlive();
    const reader = new FrameReader();
    const decoder = new TextDecoder();
    const body = response.body?.getReader();
    while (body) {
      const piece = await body.read();
      if (piece.done) return;
      for (const frame of reader.push(decoder.decode(piece.value, { stream: true }))) {
        if (signal.aborted) return;
        this.#in(frame.id ? `id ${frame.id}` : 'data', frame.data);
        this.#apply(readEvent(frame.data), frame.id);
      }
    }
  }

  #apply(event: StreamEvent, seq?: string): void {
    if (seq !== undefined) this.lastSeq = seq;
    const happening = { key: this.#next++, seq, at: Date.now(), event };
    this.events = [...this.events, happening].slice(-LISTED);
    const last = this.turns.at(-1);
    if (!last) return;
    const turn: Turn = { ...last, problem: undefined };
    if (event.message) turn.reply = event.message;
    else turn.task = this.#fold(last, event);
    this.turns = [...this.turns.slice(0, -1), turn];
  }

  /** A task comes with all its past; a turn shows what came behind its own message. */
  #fold(turn: Turn, event: StreamEvent): Task | undefined {
    const task = fold(turn.task, event);
    if (!event.task || !task) return task;
    const history = task.history ?? [];
    const own = history.findIndex((message) => message.messageId === turn.message.messageId);
    const isLater = this.turns.some((one) => one !== turn && one.task?.id === task.id);
    return {
      ...task,
      history: own < 0 ? [] : history.slice(own + 1),
      artifacts: isLater ? [] : (task.artifacts ?? []),
    };
  }

  #fail(text: string): void {
    this.line = 'idle';
    const last = this.turns.at(-1);
    if (last) this.turns = [...this.turns.slice(0, -1), { ...last, problem: text }];
  }

  #out(call: Call): void {
    const headers = Object.entries(call.headers).map(([name, value]) => `${name}: ${value}`);
    const body = call.body === undefined ? '' : JSON.stringify(call.body, null, 2);
    this.#log('out', `${call.method} ${call.url.pathname}`, headers.join('\n'), body);
  }

  #in(head: string, body: string): void {
    this.#log('in', head, '', prettyBody(body));
  }

  #note(text: string): void {
    this.#log('note', text, '', '');
  }

  #log(way: WireLine['way'], head: string, headers: string, body: string): void {
    const key = `b${this.#next++}`;
    const line: WireLine = { key, leg: 'browser', at: Date.now(), way, head, headers, body };
    this.wire = [...this.wire, line].slice(-LISTED);
  }
}

function init(call: Call): RequestInit {
  const made: RequestInit = {
    method: call.method,
    headers: call.headers,
    credentials: 'same-origin',
  };
  if (call.body !== undefined) made.body = JSON.stringify(call.body);
  return made;
}

/** Says in a word how the line is. */
export function lineText(chat: Chat): string {
  switch (chat.line) {
    case 'sending':
      return 'sending …';
    case 'streaming':
      return 'streaming';
    case 'cut':
      return `disconnected after event ${chat.lastSeq ?? '–'}; the task continues`;
    case 'reconnecting':
      return 'reconnecting …';
    default:
      // The talk itself says how it ended.
      return '';
  }
}

// Calls of A2A in the four forms that a browser can speak. The hub answers in the form it was asked;
// what comes back is read into the one model of `a2a.ts`.

import { hubUrl } from './api';
import type { Artifact, Message, Part, Status, StreamEvent, Task } from './a2a';

export type Binding = 'JSONRPC' | 'HTTP+JSON';
export type Version = '1.0' | '0.3';
export interface Form {
  binding: Binding;
  version: Version;
}

/** What goes over the wire, whole: it is shown beside the conversation. */
export interface Call {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: unknown;
}

let nextId = 1;

function make(
  form: Form,
  agent: string,
  rpc: [string, unknown],
  rest: [string, string, unknown?],
): Call {
  const base = `/agents/${encodeURIComponent(agent)}`;
  const headers: Record<string, string> = { 'A2A-Version': form.version };
  if (form.binding === 'JSONRPC') {
    headers['Content-Type'] = 'application/json';
    const body = { jsonrpc: '2.0', id: nextId++, method: rpc[0], params: rpc[1] };
    return { method: 'POST', url: hubUrl(base), headers, body };
  }
  const [method, path, body] = rest;
  const url = hubUrl(form.version === '1.0' ? `${base}${path}` : `${base}/v1${path}`);
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  return { method, url, headers, body };
}

/** A message that is answered with a stream. */
export function streamCall(form: Form, agent: string, message: Message): Call {
  const written = writeMessage(form, message);
  const params = { message: written };
  const name = form.version === '1.0' ? 'SendStreamingMessage' : 'message/stream';
  const call = make(form, agent, [name, params], ['POST', '/message:stream', params]);
  call.headers['Accept'] = 'text/event-stream';
  return call;
}

/** Goes on with a task behind an event. */
export function resumeCall(form: Form, agent: string, task: string, after?: string): Call {
  const name = form.version === '1.0' ? 'SubscribeToTask' : 'tasks/resubscribe';
  const path = `/tasks/${encodeURIComponent(task)}:subscribe`;
  const call = make(form, agent, [name, { id: task }], ['POST', path]);
  call.headers['Accept'] = 'text/event-stream';
  if (after !== undefined) call.headers['Last-Event-ID'] = after;
  return call;
}

export function cancelCall(form: Form, agent: string, task: string): Call {
  const name = form.version === '1.0' ? 'CancelTask' : 'tasks/cancel';
  const path = `/tasks/${encodeURIComponent(task)}:cancel`;
  return make(form, agent, [name, { id: task }], ['POST', path, {}]);
}

export class WireError extends Error {}

/** Reads one event, or throws the error that stands in its place. */
export function readEvent(text: string): StreamEvent {
  const body = JSON.parse(text) as Record<string, unknown>;
  const error = body['error'] as { message?: string; code?: unknown } | undefined;
  if (error) throw new WireError(error.message ?? `error ${String(error.code)}`);
  const result = ('jsonrpc' in body ? body['result'] : body) as Record<string, unknown>;
  switch (result['kind']) {
    case 'task':
      return { task: readTask(result) };
    case 'message':
      return { message: readMessage(result) };
    case 'status-update':
      return { statusUpdate: { ...ids(result), status: readStatus(result['status']) } };
    case 'artifact-update':
      return { artifactUpdate: readArtifactUpdate(result) };
  }
  if (result['task']) return { task: readTask(result['task']) };
  const message = result['message'] ?? result['msg'];
  if (message) return { message: readMessage(message) };
  if (result['statusUpdate']) {
    const update = result['statusUpdate'] as Record<string, unknown>;
    return { statusUpdate: { ...ids(update), status: readStatus(update['status']) } };
  }
  if (result['artifactUpdate'])
    return { artifactUpdate: readArtifactUpdate(result['artifactUpdate']) };
  if (result['status']) return { task: readTask(result) };
  throw new WireError('this is no event of A2A');
}

type Fields = Record<string, unknown>;

function ids(from: Fields): { taskId: string; contextId?: string } {
  return { taskId: String(from['taskId'] ?? ''), contextId: String(from['contextId'] ?? '') };
}

function readArtifactUpdate(value: unknown): NonNullable<StreamEvent['artifactUpdate']> {
  const from = value as Fields;
  return {
    ...ids(from),
    artifact: readArtifact(from['artifact']),
    append: Boolean(from['append']),
    lastChunk: Boolean(from['lastChunk']),
  };
}

function readTask(value: unknown): Task {
  const from = value as Fields;
  return {
    ...(from as unknown as Task),
    status: readStatus(from['status']),
    artifacts: ((from['artifacts'] as unknown[] | undefined) ?? []).map(readArtifact),
    history: ((from['history'] as unknown[] | undefined) ?? []).map(readMessage),
  };
}

function readStatus(value: unknown): Status {
  const from = value as Fields;
  const state = String(from['state'] ?? 'unknown');
  const status: Status = {
    state: state.startsWith('TASK_STATE_')
      ? state.replace('CANCELLED', 'CANCELED')
      : `TASK_STATE_${state.toUpperCase().replaceAll('-', '_')}`,
  };
  // HTTP+JSON of 0.3 calls it `update`.
  const message = from['message'] ?? from['update'];
  if (message) status.message = readMessage(message);
  if (typeof from['timestamp'] === 'string') status.timestamp = from['timestamp'];
  return status;
}

function readMessage(value: unknown): Message {
  const from = value as Fields;
  const parts = (from['parts'] ?? from['content'] ?? []) as unknown[];
  return { ...(from as unknown as Message), parts: parts.map(readPart) };
}

function readArtifact(value: unknown): Artifact {
  const from = value as Fields;
  return {
    ...(from as unknown as Artifact),
    parts: ((from['parts'] as unknown[] | undefined) ?? []).map(readPart),
  };
}

function readPart(value: unknown): Part {
  const from = value as Fields;
  const file = from['file'] as Fields | undefined;
  if (file) {
    const part: Part = {};
    const raw = file['bytes'] ?? file['fileWithBytes'];
    const url = file['uri'] ?? file['fileWithUri'];
    if (typeof raw === 'string') part.raw = raw;
    if (typeof url === 'string') part.url = url;
    if (typeof file['name'] === 'string') part.filename = file['name'];
    if (typeof file['mimeType'] === 'string') part.mediaType = file['mimeType'];
    return part;
  }
  const data = from['data'];
  if (!('kind' in from) && data && typeof data === 'object' && 'data' in data) {
    return { data: (data as Fields)['data'] };
  }
  return Object.fromEntries(Object.entries(from).filter(([name]) => name !== 'kind')) as Part;
}

function writeMessage(form: Form, message: Message): unknown {
  if (form.version === '1.0') return message;
  const { parts, ...rest } = message;
  if (form.binding === 'JSONRPC') {
    return { kind: 'message', ...rest, role: 'user', parts: parts.map(writePart) };
  }
  return { ...rest, content: parts.map(writeHttpPart) };
}

function writePart(part: Part): unknown {
  if (part.text !== undefined) return { kind: 'text', text: part.text };
  if (part.data !== undefined) return { kind: 'data', data: part.data };
  const file: Fields = { name: part.filename, mimeType: part.mediaType };
  if (part.raw !== undefined) file['bytes'] = part.raw;
  if (part.url !== undefined) file['uri'] = part.url;
  return { kind: 'file', file };
}

function writeHttpPart(part: Part): unknown {
  if (part.text !== undefined) return { text: part.text };
  if (part.data !== undefined) return { data: { data: part.data } };
  const file: Fields = { name: part.filename, mimeType: part.mediaType };
  if (part.raw !== undefined) file['fileWithBytes'] = part.raw;
  if (part.url !== undefined) file['fileWithUri'] = part.url;
  return { file };
}

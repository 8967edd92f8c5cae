// A2A 1.0 as far as screens need it, and the older form read into it.

export interface Part {
  text?: string;
  /** Base64. */
  raw?: string;
  url?: string;
  data?: unknown;
  mediaType?: string;
  filename?: string;
  metadata?: Record<string, unknown>;
}

export interface Message {
  messageId: string;
  role: string;
  parts: Part[];
  taskId?: string;
  contextId?: string;
  metadata?: Record<string, unknown>;
}

export interface Status {
  state: string;
  message?: Message;
  timestamp?: string;
}

export interface Artifact {
  artifactId: string;
  name?: string;
  description?: string;
  parts: Part[];
}

export interface Task {
  id: string;
  contextId?: string;
  status: Status;
  artifacts?: Artifact[];
  history?: Message[];
  metadata?: Record<string, unknown>;
}

export interface StreamEvent {
  task?: Task;
  message?: Message;
  statusUpdate?: { taskId: string; contextId?: string; status: Status };
  artifactUpdate?: {
    taskId: string;
    contextId?: string;
    artifact: Artifact;
    append?: boolean;
    lastChunk?: boolean;
  };
}

export interface Skill {
  id: string;
  name: string;
  description?: string;
  tags?: string[];
  examples?: string[];
}

export interface Interface {
  url: string;
  protocolBinding: string;
  protocolVersion: string;
}

export interface Card {
  name?: string;
  description?: string;
  version?: string;
  iconUrl?: string;
  documentationUrl?: string;
  provider?: { organization?: string; url?: string };
  supportedInterfaces?: Interface[];
  url?: string;
  preferredTransport?: string;
  protocolVersion?: string;
  additionalInterfaces?: { url: string; transport: string }[];
  capabilities?: {
    streaming?: boolean;
    pushNotifications?: boolean;
    extendedAgentCard?: boolean;
    extensions?: { uri: string; description?: string; required?: boolean }[];
  };
  securitySchemes?: Record<string, unknown>;
  defaultInputModes?: string[];
  defaultOutputModes?: string[];
  skills?: Skill[];
  signatures?: unknown[];
}

/** Returns every way that a card names, whatever its version. */
export function interfaces(card: Card): Interface[] {
  if (card.supportedInterfaces?.length) return card.supportedInterfaces;
  const version = (card.protocolVersion ?? '0.3').split('.').slice(0, 2).join('.');
  const first = card.url
    ? [{ url: card.url, transport: card.preferredTransport ?? 'JSONRPC' }]
    : [];
  return [...first, ...(card.additionalInterfaces ?? [])].map((one) => ({
    url: one.url,
    protocolBinding: one.transport,
    protocolVersion: version,
  }));
}

/** Says in a word what an event is. */
export function eventKind(event: StreamEvent): string {
  if (event.statusUpdate) return 'status';
  if (event.artifactUpdate) return event.artifactUpdate.append ? 'artifact +' : 'artifact';
  if (event.message) return 'message';
  return 'task';
}

/** Says in a line what an event brings. */
export function eventLine(event: StreamEvent): string {
  const short = (parts: Part[] | undefined): string => partsText(parts ?? []).slice(0, 200);
  if (event.statusUpdate) {
    const { state, message } = event.statusUpdate.status;
    const text = short(message?.parts);
    const name = state.replace('TASK_STATE_', '').toLowerCase();
    return text ? `${name}: ${text}` : name;
  }
  if (event.artifactUpdate) {
    const { artifact } = event.artifactUpdate;
    const text = short(artifact.parts);
    return artifact.name && !event.artifactUpdate.append ? `${artifact.name}: ${text}` : text;
  }
  if (event.message) return short(event.message.parts);
  return event.task?.status.state.replace('TASK_STATE_', '').toLowerCase() ?? '';
}

export function partsText(parts: Part[]): string {
  return parts
    .map((part) => {
      if (part.text !== undefined) return part.text;
      if (part.data !== undefined) return JSON.stringify(part.data);
      return `[${part.filename ?? part.mediaType ?? 'file'}]`;
    })
    .join('');
}

/** Puts pieces of one text together: agents send them a few letters at a time. */
export function joinParts(parts: Part[]): Part[] {
  const joined: Part[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const isPlain = (one: Part): boolean =>
      one.text !== undefined && !one.metadata && !one.filename;
    if (last && isPlain(last) && isPlain(part) && last.mediaType === part.mediaType) {
      joined[joined.length - 1] = { ...last, text: (last.text ?? '') + (part.text ?? '') };
    } else {
      joined.push(part);
    }
  }
  return joined;
}

/** A task as its events make it. Every step gives a new value; nothing is changed in place. */
export function fold(task: Task | undefined, event: StreamEvent): Task | undefined {
  if (event.task) return event.task;
  if (event.message) return task;
  if (!task) {
    const from = event.statusUpdate ?? event.artifactUpdate;
    if (!from) return task;
    const begun: Task = { id: from.taskId, status: { state: 'TASK_STATE_WORKING' } };
    if (from.contextId) begun.contextId = from.contextId;
    return fold(begun, event);
  }
  if (event.statusUpdate) {
    const history = task.history ?? [];
    const said = task.status.message;
    const isKept = said && !history.some((message) => message.messageId === said.messageId);
    return {
      ...task,
      status: event.statusUpdate.status,
      history: isKept ? [...history, said] : history,
    };
  }
  if (event.artifactUpdate) {
    const { artifact, append } = event.artifactUpdate;
    const artifacts = [...(task.artifacts ?? [])];
    const index = artifacts.findIndex((one) => one.artifactId === artifact.artifactId);
    const old = artifacts[index];
    if (old && append) {
      artifacts[index] = { ...old, parts: joinParts([...old.parts, ...artifact.parts]) };
    } else if (old) {
      artifacts[index] = artifact;
    } else {
      artifacts.push(artifact);
    }
    return { ...task, artifacts };
  }
  return task;
}

/** Adds what somebody said to the history, once. */
export function withMessage(task: Task, message: Message): Task {
  const history = task.history ?? [];
  if (history.some((one) => one.messageId === message.messageId)) return task;
  return { ...task, history: [...history, message] };
}

/** Returns the newest word of the agent, unless it is in the history already. */
export function lastWord(task: Task): Message | undefined {
  const last = task.status.message;
  const isKept = task.history?.some((message) => message.messageId === last?.messageId);
  return isKept ? undefined : last;
}

/** Returns everything that was said, the newest word of the agent included, in order. */
export function conversation(task: Task): Message[] {
  const last = lastWord(task);
  return last ? [...(task.history ?? []), last] : (task.history ?? []);
}

export function isUser(message: Message): boolean {
  return /user/i.test(message.role);
}

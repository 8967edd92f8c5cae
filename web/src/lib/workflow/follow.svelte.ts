/** A run as it goes: the picture, kept up to date, and what its agents say at this moment. */

import { fold, partsText, type StreamEvent, type Task } from '../a2a';
import { address, Problem } from '../api';
import { follow, type Link } from '../sse';
import { readEvent, runs, workflows } from './client';
import { WorkflowText } from './document';
import { EMPTY, readGraph, type Graph } from './graph';
import { RunPicture, type Bar } from './run';
import { firstWords } from './summary';
import { type NodeRun, type Question, type Run, type RunEvent } from './types';

/** Browsers open six connections to a hub; two are taken, and other pages want some, too. */
const LISTENERS = 2;
/** As much as a box can show, and more. */
const WORDS = 400;
/** How long until a task is looked for again, in milliseconds. */
const PAUSE = 500;

export class RunView {
  run = $state.raw<Run>();
  graph = $state.raw<Graph>(EMPTY);
  /** Whether the graph is that of the run: it has none before its first word. */
  isDrawn = $state(false);
  /** What the version of the run says it needs. */
  inputs = $state.raw<{ name: string; prompt?: string | null; required: boolean }[]>([]);
  states = $state.raw(new Map<string, NodeRun>());
  bars = $state.raw<Bar[]>([]);
  events = $state.raw<RunEvent[]>([]);
  questions = $state.raw<Question[]>([]);
  words = $state.raw(new Map<string, string>());
  link = $state<Link>('connecting');
  problem = $state.raw<Problem>();
  /** Whether the workflow is no longer there, so that only its steps are known. */
  isBare = $state(false);

  #picture: RunPicture | undefined;
  #stop: (() => void) | undefined;
  #isClosed = false;
  #drawing = 0;
  #heard = new Map<string, { stop: () => void; node: string }>();
  #chosen = '';

  constructor(readonly id: string) {}

  async open(): Promise<void> {
    try {
      const run = await runs.get(this.id);
      if (this.#isClosed) return;
      this.problem = undefined;
      this.#picture = new RunPicture(run);
      await this.#draw(run);
      this.#show();
      this.#follow();
    } catch (error) {
      this.problem = Problem.of(error);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#stop?.();
    cancelAnimationFrame(this.#drawing);
    for (const heard of this.#heard.values()) heard.stop();
    this.#heard.clear();
  }

  /** Says which node is looked at: its words come first. */
  look(node: string): void {
    this.#chosen = node;
    this.#listen();
  }

  async #draw(run: Run): Promise<void> {
    // Between its task and its first word a run has neither a version nor steps.
    if (this.isDrawn || run.version === 0) return;
    const nodes = (run.nodes ?? []).map(({ node, type }) => ({ id: node, type }));
    try {
      const workflow = await workflows.get(run.workflow, run.version);
      this.graph = WorkflowText.read(workflow.source).graph;
      this.inputs = workflow.inputs;
    } catch (error) {
      if (Problem.of(error).status !== 404) throw error;
      this.isBare = true;
      this.graph = readGraph({ name: run.workflow, nodes });
    }
    this.isDrawn = true;
  }

  /** All events are read, also of a run that is over: the waterfall needs them. */
  #follow(): void {
    this.#stop?.();
    this.#stop = follow({
      url: () => address('/api/v1/runs/{id}/events', { path: { id: this.id } }),
      after: '0',
      isOver: () => this.#picture?.hasEnded ?? false,
      onFrame: (frame) => {
        const event = readEvent(frame.data);
        if (!event || !this.#picture?.add(event)) return;
        this.#soon();
        if (event.type === 'run.started' ? !this.isDrawn : this.#picture.hasEnded) {
          void this.#refresh();
        }
      },
      onLink: (link, problem) => {
        this.link = link;
        if (problem && link === 'refused') this.problem = problem;
      },
    });
  }

  /** What the run is made of and what came of it is told by the run itself, not by its events. */
  async #refresh(): Promise<void> {
    try {
      const run = await runs.get(this.id);
      await this.#draw(run);
      this.#picture?.rebase(run);
      this.#soon();
    } catch (error) {
      // A picture that is drawn lacks only the output; the next visit has that.
      if (!this.isDrawn) this.problem = Problem.of(error);
    }
  }

  /** Much that happens at once is drawn once. */
  #soon(): void {
    if (this.#drawing !== 0) return;
    this.#drawing = requestAnimationFrame(() => {
      this.#drawing = 0;
      this.#show();
    });
  }

  #show(): void {
    const picture = this.#picture;
    if (!picture || this.#isClosed) return;
    this.run = picture.run;
    this.states = new Map(picture.nodes);
    this.bars = picture.bars.map((bar) => ({ ...bar }));
    this.events = [...picture.events];
    this.questions = [...picture.questions];
    this.#listen();
    this.#speak();
  }

  /** Finished nodes show what they brought about. */
  #speak(): void {
    const words = new Map(this.words);
    for (const node of this.states.values()) {
      if (node.state === 'completed') {
        // What is gathered ends with what was made last.
        const shown = node.type === 'output' ? node.artifacts?.slice(-1) : node.artifacts;
        words.set(node.node, firstWords(shown).slice(0, WORDS));
      } else if (node.state === 'waiting') {
        const question = this.questions.find((entry) => entry.node === node.node);
        words.set(node.node, question?.text.slice(0, WORDS) ?? '');
      } else if (node.state === 'pending' || node.state === 'skipped') words.delete(node.node);
    }
    this.words = words;
  }

  /** Listens to the tasks of nodes that run: the one looked at, then the youngest. */
  #listen(): void {
    if (this.#isClosed) return;
    const running = [...this.states.values()]
      .filter((node) => node.state === 'running' && node.task_id)
      .sort((a, b) => {
        const first = Number(b.node === this.#chosen) - Number(a.node === this.#chosen);
        return first || (b.started_at ?? '').localeCompare(a.started_at ?? '');
      })
      .slice(0, LISTENERS);
    const wanted = new Map(running.map((node) => [node.task_id ?? '', node.node]));
    for (const [task, heard] of this.#heard) {
      if (wanted.has(task)) continue;
      heard.stop();
      this.#heard.delete(task);
    }
    for (const [task, node] of wanted) {
      if (!this.#heard.has(task)) this.#heard.set(task, { node, stop: this.#hear(task, node) });
    }
  }

  #hear(id: string, node: string): () => void {
    let task: Task | undefined;
    return follow({
      url: () => address('/api/v1/tasks/{task}/events', { path: { task: id } }),
      after: '0',
      onFrame: (frame) => {
        try {
          const { event } = JSON.parse(frame.data) as { event: StreamEvent };
          task = fold(task, event);
        } catch {
          return;
        }
        const text = lastWords(task);
        if (text !== '') this.words = new Map(this.words).set(node, text);
      },
      // A run names a task before it opens it.
      onLink: (link, problem) => {
        if (link === 'refused' && problem?.status === 404) setTimeout(() => this.#retry(id), PAUSE);
      },
    });
  }

  #retry(task: string): void {
    this.#heard.delete(task);
    this.#listen();
  }
}

/** The end of what an agent has said so far. */
function lastWords(task: Task | undefined): string {
  const artifact = task?.artifacts?.at(-1);
  const text = artifact ? partsText(artifact.parts) : partsText(task?.status.message?.parts ?? []);
  const tail = text.trimEnd().slice(-90);
  return tail.length < text.trimEnd().length ? `…${tail}` : tail;
}

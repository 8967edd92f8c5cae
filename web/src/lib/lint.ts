// What is wrong with a card, before it is kept. A few of the problems that `nuncio card` and
// `nuncio doctor` know, by the same codes.

import { interfaces, type Card } from './a2a';
import { inert } from './format';

export interface Finding {
  code: string;
  severity: 'error' | 'warning';
  text: string;
}

export function lint(card: Card): Finding[] {
  const found: Finding[] = [];
  const error = (code: string, text: string): void =>
    void found.push({ code, severity: 'error', text });
  const warning = (code: string, text: string): void =>
    void found.push({ code, severity: 'warning', text });

  if (!card.name) error('no-name', 'The agent has no name.');
  if (!card.description) error('no-description', 'It does not say what it does.');
  if (!card.version) error('no-version', 'It has no version of its own.');
  if (!card.defaultInputModes?.length)
    error('no-input-modes', 'It does not say what it understands.');
  if (!card.defaultOutputModes?.length)
    error('no-output-modes', 'It does not say what it answers with.');

  const ways = interfaces(card);
  if (ways.length === 0) error('no-interface', 'It names no address at which it is reached.');
  for (const way of ways.filter((way) => way.protocolBinding !== 'GRPC')) {
    const url = URL.canParse(way.url) ? new URL(way.url) : undefined;
    if (!url) {
      error('bad-url', `${way.url} is no whole URL.`);
      continue;
    }
    const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
    if (url.hostname === '0.0.0.0' || url.hostname === '[::]') {
      error('unspecified-address', `${way.url} is an address to listen at, not one to call.`);
    } else if (url.protocol === 'http:' && !isLocal) {
      error('not-https', `${way.url} is reached without encryption.`);
    }
    if (url.username || url.password) error('url-credentials', 'A URL contains a password.');
  }
  if (!card.supportedInterfaces?.length && ways.length > 0) {
    warning('legacy-form', 'The card has the form of an older version.');
  }

  const skills = card.skills ?? [];
  if (skills.length === 0) warning('no-skills', 'It lists no skill, so nobody finds it by one.');
  for (const skill of skills) {
    if (!skill.id) error('no-skill-id', `A skill has no identifier.`);
    if (!skill.description) error('no-skill-description', `${skill.id} does not say what it does.`);
    if (!skill.tags?.length) error('no-skill-tags', `${skill.id} has no tags.`);
  }
  if (new Set(skills.map((skill) => skill.id)).size < skills.length) {
    error('duplicate-skill-id', 'Two skills have the same identifier.');
  }

  const texts = [
    card.name,
    card.description,
    ...skills.flatMap((one) => [one.name, one.description]),
  ];
  if (texts.some((text) => text && inert(text) !== text)) {
    error(
      'hidden-character',
      'A text contains characters that nobody sees, or that turn it round.',
    );
  }
  if (texts.some((text) => (text?.length ?? 0) > 2048)) {
    error('text-too-long', 'A description has more than 2,048 characters.');
  }
  return found;
}

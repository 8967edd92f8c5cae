import { describe, expect, it } from 'vitest';

import { mapCondition, mapTemplate, namesInTemplate } from './references';

const rename = (name: string) => (name === 'draft' ? 'text' : name);

describe('references in templates', () => {
  it.each([
    ['{{draft}}', '{{text}}'],
    ['{{ draft.data.title }}', '{{ text.data.title }}'],
    ['{{inputs.draft}}', '{{inputs.text}}'],
    ["{{draft.data['draft']}} {{draft[0]}}", "{{text.data['draft']}} {{text[0]}}"],
    ['{{draft_2}} {{my-draft}} {{review.draft}}', '{{draft_2}} {{my-draft}} {{review.draft}}'],
    ['the draft, \\{{draft}}', 'the draft, \\{{draft}}'],
    ['{{{draft}}}', '{{{text}}}'],
    ['{{draft', '{{draft'],
  ])('%s', (before, after) => {
    expect(mapTemplate(before, rename)).toBe(after);
  });

  it('are found, each once', () => {
    expect(namesInTemplate('{{a}} {{b.c}} {{a.text}} {{inputs.d}}')).toEqual(['a', 'b', 'd']);
  });
});

describe('references in conditions', () => {
  it.each([
    ['draft.data.score >= 8', 'text.data.score >= 8'],
    ["not (draft contains 'draft')", "not (text contains 'draft')"],
    ['"about {{draft}}" == review', '"about {{text}}" == review'],
    ['{{draft}} in draft_2', '{{text}} in draft_2'],
    ['len(draft) > 3 and review.draft', 'len(text) > 3 and review.draft'],
    ['true or draft', 'true or text'],
  ])('%s', (before, after) => {
    expect(mapCondition(before, rename)).toBe(after);
  });

  it('words of the language are no names', () => {
    expect(mapCondition('a and not b or len(c) in [null]', () => 'x')).toBe(
      'x and not x or len(x) in [null]',
    );
  });
});

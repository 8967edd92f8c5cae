import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';

import svelteConfig from './svelte.config.js';

// What agents say is never HTML (A-UI): there is no way from text to markup.
const markup = ['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'srcdoc'];

export default ts.config(
  { ignores: ['dist', 'node_modules', 'screenshots', 'test-results', 'src/lib/schema.d.ts'] },
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
  },
  {
    rules: {
      'svelte/no-at-html-tags': 'error',
      'svelte/no-navigation-without-resolve': 'off',
      // Queries are values here: they are replaced, not changed.
      'svelte/prefer-svelte-reactivity': 'off',
      'no-restricted-syntax': [
        'error',
        ...markup.map((name) => ({
          selector: `MemberExpression[property.name='${name}']`,
          message: 'Text of agents must not become markup.',
        })),
        {
          selector: "CallExpression[callee.object.name='document'][callee.property.name='write']",
          message: 'Text of agents must not become markup.',
        },
      ],
      eqeqeq: 'error',
      'no-eval': 'error',
      'no-console': 'error',
    },
  },
  { files: ['scripts/**', 'tests/**'], rules: { 'no-console': 'off' } },
);

// Makes the pictures of the guides anew: `npm run pictures`.

import { defineConfig } from '@playwright/test';

import base from '../playwright.config';

export default defineConfig({ ...base, testDir: '.', workers: 1, outputDir: '../test-results' });

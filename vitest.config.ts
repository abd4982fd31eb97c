import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{contract,gateway,local,cli,tools,dev}/**/*.test.ts'],
          exclude: ['**/node_modules/**', 'gateway/test/**', 'cli/test/**'],
        },
      },
      {
        test: {
          name: 'operations',
          include: ['gateway/test/operations/**/*.test.ts'],
          globalSetup: ['gateway/test/kit/global-setup.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'journeys',
          include: ['gateway/test/journeys/**/*.test.ts', 'cli/test/**/*.test.ts'],
          globalSetup: ['gateway/test/kit/global-setup.ts'],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})

import { defineConfig } from 'vitest/config'

const kit = { globalSetup: ['gateway/test/kit/global-setup.ts'] }

// What reads memory or processor time must have the machine to itself.
const measures = [
  'cli/test/dev.test.ts',
  'gateway/test/journeys/uploads.test.ts',
  'gateway/test/journeys/watchers.test.ts',
]

// One group of tests after the other; within a group two files at a time, because much of it is waiting.
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{contract,gateway,local,cli,tools,dev}/**/*.test.ts'],
          exclude: ['**/node_modules/**', 'gateway/test/**', 'cli/test/**'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...kit,
          name: 'operations',
          include: ['gateway/test/operations/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...kit,
          name: 'journeys',
          include: ['gateway/test/journeys/**/*.test.ts', 'cli/test/**/*.test.ts'],
          exclude: measures,
          testTimeout: 180_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...kit,
          name: 'measures',
          include: measures,
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})

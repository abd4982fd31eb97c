import { defineConfig } from 'vitest/config'

const kit = { globalSetup: ['gateway/test/kit/global-setup.ts'] }

// These limits only end a test that hangs. They leave room for a machine that is many times slower or busier.
const limits = { testTimeout: 300_000, hookTimeout: 300_000, expect: { poll: { timeout: 120_000 } } }
const longLimits = { ...limits, testTimeout: 1_800_000, hookTimeout: 1_800_000 }

// What reads memory or processor time must have the machine to itself.
const measures = [
  'local/src/speech/first-byte.test.ts',
  'cli/test/dev.test.ts',
  'gateway/test/journeys/speech.test.ts',
  'gateway/test/journeys/chat-bodies.test.ts',
  'gateway/test/journeys/fairness.test.ts',
  'gateway/test/journeys/audio-uploads.test.ts',
  'gateway/test/journeys/uploads.test.ts',
  'gateway/test/journeys/watchers.test.ts',
]

// What needs the weights of models, which `kinora models pull` fetches.
const sound = [
  'local/src/recognition/whisper/whisper-text.test.ts',
  'local/src/recognition/whisper/whisper-words.test.ts',
  'local/src/recognition/detected-language.test.ts',
  'local/src/speech/spoken-sentences.test.ts',
]

// The same at length, for `npm run prove:sound`. What it proves piece by piece `voices.test.ts` hears as a whole.
const longSound = ['local/src/speech/kokoro.test.ts', 'local/src/recognition/recognition.test.ts']

// One group of tests after the other; within a group three files at a time, because much of it is waiting.
export default defineConfig({
  test: {
    maxWorkers: 3,
    projects: [
      {
        test: {
          ...limits,
          name: 'unit',
          include: ['{contract,gateway,local,cli,tools,dev}/**/*.test.ts'],
          exclude: [
            ...['**/node_modules/**', '**/*.large.test.ts', 'gateway/test/**', 'cli/test/**'],
            'gateway/test/conformance/conformance.test.ts',
            ...sound,
            ...longSound,
            ...measures,
          ],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...kit,
          name: 'operations',
          include: ['gateway/test/operations/**/*.test.ts'],
          ...limits,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...kit,
          name: 'journeys',
          include: ['gateway/test/journeys/**/*.test.ts', 'cli/test/**/*.test.ts'],
          exclude: measures,
          ...limits,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'sound',
          include: sound,
          ...longLimits,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...kit,
          name: 'measures',
          include: measures,
          fileParallelism: false,
          ...limits,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: 'long-sound',
          include: longSound,
          ...longLimits,
          sequence: { groupOrder: 5 },
        },
      },
      // What vendors can do to us. `npm run prove:vendors` runs it at full length.
      {
        test: {
          ...kit,
          name: 'vendors',
          include: ['gateway/test/vendors/**/*.test.ts', 'gateway/test/conformance/conformance.test.ts'],
          ...longLimits,
          sequence: { groupOrder: 4 },
        },
      },
      // What callers can do to each other. `npm run prove:attacks` runs it at full length.
      {
        test: {
          ...kit,
          name: 'attacks',
          include: ['gateway/test/attacks/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 6 },
        },
      },
      // Needs weights that are too large to pull for every run; not part of `npm test`.
      {
        test: {
          ...limits,
          name: 'large',
          include: ['local/**/*.large.test.ts'],
          sequence: { groupOrder: 5 },
        },
      },
    ],
  },
})

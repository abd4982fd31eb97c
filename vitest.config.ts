import { defineConfig } from 'vitest/config'

const kit = { globalSetup: ['gateway/test/kit/global-setup.ts'] }

// These timeouts only end a test that hangs. They allow for a machine that is many times slower or busier.
const limits = { testTimeout: 300_000, hookTimeout: 300_000, expect: { poll: { timeout: 120_000 } } }
const longLimits = { ...limits, testTimeout: 1_800_000, hookTimeout: 1_800_000 }

// Tests that measure memory or processor time run alone.
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

// Tests that need model weights; `kinora models pull` downloads them.
const sound = [
  'local/src/recognition/whisper/whisper-text.test.ts',
  'local/src/recognition/whisper/whisper-words.test.ts',
  'local/src/recognition/detected-language.test.ts',
  'local/src/speech/spoken-sentences.test.ts',
]

// The long form, for `npm run prove:sound`. `voices.test.ts` covers the same end to end.
const longSound = ['local/src/speech/kokoro.test.ts', 'local/src/recognition/recognition.test.ts']

// Groups run in order. Three files of a group run at a time, because tests mostly wait.
export default defineConfig({
  test: {
    maxWorkers: 3,
    projects: [
      {
        test: {
          ...limits,
          name: 'unit',
          include: ['{contract,sandbox,gateway,local,cli,tools,dev}/**/*.test.ts'],
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
      // Vendor misbehaviour. `npm run prove:vendors` runs it at full length.
      {
        test: {
          ...kit,
          name: 'vendors',
          include: ['gateway/test/vendors/**/*.test.ts', 'gateway/test/conformance/conformance.test.ts'],
          ...longLimits,
          sequence: { groupOrder: 4 },
        },
      },
      // Attacks by one caller on others. `npm run prove:attacks` runs them at full length.
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
      // Faults of every part of the service. `npm run prove:faults` runs them at full length.
      {
        test: {
          name: 'faults',
          include: ['gateway/test/faults/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 7 },
        },
      },
      // Needs model weights that are too large to download for every run; not part of `npm test`.
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

import { defineConfig } from 'vitest/config'

import { SlowFirst } from './tools/test-order.ts'

const database = 'gateway/test/kit/global-setup.ts'
const command = 'gateway/test/kit/bundle-command.ts'
const priority = 'gateway/test/kit/raise-priority.ts'
const previous = 'gateway/test/upgrade/bundle-previous.ts'
const kit = { globalSetup: [database, command] }

// These timeouts only end a test that hangs. They allow for a machine that is many times slower or busier.
const limits = {
  ...{ testTimeout: 900_000, hookTimeout: 900_000, expect: { poll: { timeout: 300_000 } } },
  // Files share their modules, and a failed test must not leave a changed clock behind.
  restoreMocks: true,
}
const longLimits = { ...limits, testTimeout: 1_800_000, hookTimeout: 1_800_000 }

// Tests that measure time, or the order of many tasks, run alone.
const measures = [
  'local/src/speech/first-byte.test.ts',
  'cli/test/dev.test.ts',
  'gateway/test/journeys/speech.test.ts',
  'gateway/test/journeys/chat-bodies.test.ts',
  'gateway/test/journeys/fairness.test.ts',
]

// Tests that need model weights; `kinora models pull` downloads them.
const sound = [
  'local/src/recognition/whisper/whisper-text.test.ts',
  'local/src/recognition/whisper/whisper-words.test.ts',
  'local/src/speech/spoken-sentences.test.ts',
]

// The long form, for `npm run prove:sound`.
const longSound = [
  'local/src/recognition/detected-language.test.ts',
  'local/src/speech/kokoro.test.ts',
  'local/src/recognition/recognition.test.ts',
  'gateway/test/journeys/voices.test.ts',
]

// The long form, for `npm run prove:journeys`. The quick form of `npm run prove:faults` covers a part of it.
const longJourneys = [
  'gateway/test/journeys/slow-downloads.test.ts',
  'gateway/test/journeys/estimates.test.ts',
]

// Groups run in order. Six files of a group run at a time, because tests also wait. The files of a project that is not
// isolated share loaded modules, which takes a third of the time of loading them for each file.
export default defineConfig({
  test: {
    maxWorkers: 6,
    sequence: { sequencer: SlowFirst },
    projects: [
      {
        test: {
          ...limits,
          name: 'unit',
          isolate: false,
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
          globalSetup: [database],
          name: 'operations',
          include: ['gateway/test/operations/**/*.test.ts'],
          isolate: false,
          ...limits,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...kit,
          name: 'journeys',
          isolate: false,
          include: ['gateway/test/journeys/**/*.test.ts', 'cli/test/**/*.test.ts'],
          exclude: [...measures, ...longSound, ...longJourneys],
          ...limits,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'sound',
          include: sound,
          ...longLimits,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...kit,
          name: 'measures',
          setupFiles: [priority],
          include: measures,
          fileParallelism: false,
          ...limits,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...kit,
          name: 'long-journeys',
          include: longJourneys,
          ...longLimits,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...kit,
          name: 'long-sound',
          include: longSound,
          ...longLimits,
          sequence: { groupOrder: 3 },
        },
      },
      // Vendor misbehaviour. `npm run prove:vendors` runs it at full length.
      {
        test: {
          ...kit,
          name: 'vendors',
          include: ['gateway/test/vendors/**/*.test.ts', 'gateway/test/conformance/conformance.test.ts'],
          ...longLimits,
          sequence: { groupOrder: 0 },
        },
      },
      // Attacks by one caller on others. `npm run prove:attacks` runs them at full length.
      {
        test: {
          ...kit,
          name: 'attacks',
          setupFiles: [priority],
          include: ['gateway/test/attacks/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
      // Faults of every part of the service. `npm run prove:faults` runs them at full length.
      {
        test: {
          name: 'faults',
          globalSetup: [command],
          include: ['gateway/test/faults/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 0 },
        },
      },
      // Upgrades from the previous version. `npm run prove:upgrade` runs them with many tasks and streams.
      {
        test: {
          globalSetup: [database, command, previous],
          name: 'upgrade',
          include: ['gateway/test/upgrade/**/*.test.ts'],
          ...longLimits,
          sequence: { groupOrder: 0 },
        },
      },
      // The counts of what operations cost. `npm run bench` also measures times.
      {
        test: {
          name: 'bench',
          ...kit,
          include: ['bench/*-cost*.test.ts'],
          ...longLimits,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'long-bench',
          ...kit,
          include: ['bench/**/*.test.ts'],
          exclude: ['bench/*-cost*.test.ts'],
          ...longLimits,
          sequence: { groupOrder: 3 },
        },
      },
      // Needs model weights that are too large to download for every run; not part of `npm test`.
      {
        test: {
          ...limits,
          name: 'large',
          include: ['local/**/*.large.test.ts'],
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})

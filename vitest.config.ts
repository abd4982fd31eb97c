import { defineConfig } from 'vitest/config'

import { minutes, seconds } from './gateway/test/kit/time-limits.ts'
import { SlowFirst } from './tools/test-order.ts'

const database = 'gateway/test/kit/global-setup.ts'
const command = 'gateway/test/kit/bundle-command.ts'
const priority = 'gateway/test/kit/raise-priority.ts'
const statements = 'gateway/test/kit/record-statements.ts'
const previous = 'gateway/test/upgrade/bundle-previous.ts'
const objectStore = 'gateway/test/kit/object-store.ts'
const diskOnly = 'gateway/test/kit/disk-only.ts'
const kit = { globalSetup: [database, command] }
const seededConsole = 'console/test/kit/global-setup.ts'

const limits = {
  ...{ testTimeout: minutes(1), hookTimeout: minutes(1), expect: { poll: { timeout: seconds(30) } } },
  // Files share their modules, and a failed test must not leave a changed clock behind.
  restoreMocks: true,
}
// Tests with processes of their own: a start takes seconds while six files run, and a kill is followed by a recovery.
const processLimits = {
  ...limits,
  ...{ testTimeout: minutes(5), hookTimeout: minutes(5), expect: { poll: { timeout: minutes(2) } } },
}
// Tests that measure as long as it takes, and long forms.
const longLimits = { ...processLimits, testTimeout: minutes(30), hookTimeout: minutes(30) }

// Tests that measure time, or the order of many tasks, run alone.
const measures = [
  'gateway/test/journeys/speech.test.ts',
  'gateway/test/journeys/chat-bodies.test.ts',
  'gateway/test/journeys/fairness.test.ts',
  'gateway/test/journeys/hanging-webhooks.test.ts',
  // A browser uses all processors.
  'gateway/test/journeys/pages-in-browser.test.ts',
  'gateway/test/journeys/console-cookie-in-browser.test.ts',
  // Attacks by one caller on others. `npm run prove:attacks` runs them at full length.
  'gateway/test/attacks/**/*.test.ts',
]

// The tests of operations with media in buckets (`npm run prove:storage -- media`).
const isMediaInS3 = process.env['TEST_MEDIA_STORE'] === 's3'

// Tests of stores and of what uses them, beside their sources.
const ofDatabase = 'gateway/src/**/*.database.test.ts'

// Checks the SQL that the tests of operations have executed, so it runs after them.
const statementsTest = 'tools/statements/statements.test.ts'

// Tests that need model weights; `kinora models pull` downloads them.
const sound = [
  'local/src/recognition/translation.test.ts',
  'local/src/recognition/whisper/whisper-text.test.ts',
]

// Rolling restarts of a whole service, for `npm run prove:storage -- migrate`.
const migration = 'gateway/test/storage/migrate-service.test.ts'

const hotUpdates = 'gateway/src/retention/hot-updates.database.test.ts'

// Not part of `npm test`.
const long = [
  // `npm run prove:packages`, which CI runs for a release.
  'cli/test/installed-packages.test.ts',
  // `npm run prove:vendors`
  'gateway/test/vendors/in-flight.test.ts',
  'gateway/test/vendors/outage.test.ts',
  // `npm run prove:speech`
  'local/src/speech/first-byte.test.ts',
  // `npm run test:sound`
  'local/src/recognition/whisper/whisper-words.test.ts',
  'local/src/speech/spoken-sentences.test.ts',
  // The long form, for `npm run prove:sound`.
  'local/src/recognition/detected-language.test.ts',
  'local/src/speech/kokoro.test.ts',
  'local/src/recognition/recognition.test.ts',
  'gateway/test/journeys/voices.test.ts',
  // The long form, for `npm run prove:journeys`. The quick form of `npm run prove:faults` covers a part of it.
  'gateway/test/journeys/slow-downloads.test.ts',
  'gateway/test/journeys/estimates.test.ts',
  // `npm run prove:hot-updates`
  hotUpdates,
  // `npm run prove:observability`
  'gateway/test/observability/observability.test.ts',
  // `npm run prove:faults -- --bucket`
  'gateway/test/faults/bucket-faults.test.ts',
  'gateway/test/storage/large-results.test.ts',
  // `npm run prove:alerts`
  'gateway/test/alerts/alerts.test.ts',
  // Benchmarks, for `npm run bench`, without the counts of statements.
  'bench/**/!(*-cost*).test.ts',
  // Needs model weights that are too large to download for every run.
  'local/**/*.large.test.ts',
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
          include: ['{contract,client,sandbox,gateway,local,cli,ai-sdk,tools,dev,console/src}/**/*.test.ts'],
          exclude: [
            '**/node_modules/**',
            'gateway/test/**',
            'cli/test/**',
            'ai-sdk/test/**',
            'client/test/**',
            ofDatabase,
            statementsTest,
            ...sound,
            ...measures,
            ...long,
          ],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...limits,
          name: 'operations',
          globalSetup: isMediaInS3 ? [database, objectStore] : [database],
          setupFiles: [statements, diskOnly],
          isolate: false,
          include: ['gateway/test/operations/**/*.test.ts', '{client,ai-sdk}/test/**/*.test.ts', ofDatabase],
          exclude: [hotUpdates],
          sequence: { groupOrder: 0 },
        },
      },
      // Media in an S3 server of its own, also with API and worker on machines of their own, and a migration between stores.
      {
        test: {
          ...processLimits,
          name: 'storage',
          isolate: false,
          globalSetup: [database, command, objectStore],
          include: ['gateway/test/storage/**/*.test.ts'],
          exclude: [...long, ...(process.env['PROVE_STORAGE'] === undefined ? [migration] : [])],
          sequence: { groupOrder: 0 },
        },
      },
      // Several processes: journeys, the command line, vendors that misbehave (`npm run prove:vendors`), faults of every part
      // of the service (`npm run prove:faults`), speech models, and what operations cost (`npm run bench -- --quick`).
      {
        test: {
          ...processLimits,
          ...kit,
          name: 'journeys',
          isolate: false,
          include: [
            'gateway/test/{journeys,vendors,conformance,faults}/**/*.test.ts',
            'cli/test/**/*.test.ts',
            'bench/**/*-cost*.test.ts',
            ...sound,
          ],
          exclude: [...measures, ...long],
          sequence: { groupOrder: 0 },
        },
      },
      // Upgrades from the previous version. `npm run prove:upgrade` runs them with many tasks and streams.
      {
        test: {
          ...processLimits,
          name: 'upgrade',
          globalSetup: [database, command, previous],
          include: ['gateway/test/upgrade/**/*.test.ts'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...longLimits,
          ...kit,
          name: 'measures',
          isolate: false,
          setupFiles: [priority],
          include: [...measures, statementsTest],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      // The service on many machines, for `npm run prove:cluster` alone.
      ...(process.env['PROVE_CLUSTER'] === undefined
        ? []
        : [
            {
              test: {
                ...longLimits,
                name: 'cluster',
                globalSetup: [command, previous],
                include: ['gateway/test/cluster/**/*.test.ts'],
                sequence: { groupOrder: 4 },
              },
            },
          ]),
      // The web console in a browser, on one service that all files share.
      {
        test: {
          ...processLimits,
          name: 'console',
          isolate: false,
          globalSetup: [command, seededConsole],
          setupFiles: ['console/test/kit/close-pages.ts'],
          include: ['console/test/**/*.test.ts'],
          // For `npm run prove:console`.
          exclude: process.env['PROVE_CONSOLE'] === undefined ? ['console/test/proofs/**'] : [],
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...longLimits,
          ...kit,
          name: 'long',
          include: long,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})

/** The HTTP server of the API with everything that admits a request: keys, limits, bodies, idempotency. */
import { adminOperations } from '@kinora/contract/admin-operations'
import { imageBytesMax } from '@kinora/contract/limits'
import { errorsOf, type Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
import { consoleSessionOperations } from '@kinora/contract/operations/console-sessions'
import { webhookOperations } from '@kinora/contract/operations/webhooks'

import { createAdmission } from '../admission/admission.ts'
import { createDiskSpace } from '../admission/disk-space.ts'
import { admissionLimitsOf, heapBytesMax, memoryBytesMax, noAdmissionLimits } from '../admission/limits.ts'
import { createMediaWork, createUnlimitedMediaWork } from '../admission/media-work.ts'
import { createProviderSlots, unlimitedProviderSlots } from '../admission/provider-slots.ts'
import { createAuthenticate } from '../auth/authenticate.ts'
import { createMayBeFree } from '../billing/prices/may-be-free.ts'
import { findPaymentProblem } from '../billing/spending/spend.ts'
import type { Config } from '../config.ts'
import { createUploadSpool } from '../http/body/upload-spool.ts'
import type { ApiServer } from '../http/server/bind-operation.ts'
import type { ConnectionSettings } from '../http/server/node-server.ts'
import { createServer } from '../http/server/server.ts'
import { fingerprintOf } from '../idempotency/fingerprint.ts'
import { createRunOnce } from '../idempotency/run-once.ts'
import { migrationProblem } from '../platform/migrate.ts'
import { isDatabaseUnavailable } from '../platform/postgres-errors.ts'
import { createRequestRecorder } from '../request-log/record-requests.ts'
import { dayOfTranscription } from '../transcription-tasks/transcription-id.ts'
import { timeOfTaskId } from '../videos/task-id.ts'
import type { ApiContext } from './api-context.ts'

const mebibyte = 1_048_576
const uploadRateWindowMs = 15_000
/** How many times its size a compressed body may inflate to. The text of requests rarely reaches twenty times. */
const inflationMax = 100

const connectionSettingsOf = (config: Config): ConnectionSettings => {
  const limited = (limit: number) => (config.ADMISSION_CONTROL ? limit : Infinity)
  return {
    connectionsPerAddress: limited(config.LIMIT_CONNECTIONS_PER_ADDRESS),
    connections: limited(config.LIMIT_CONNECTIONS),
    responseStallMs: limited(config.RESPONSE_STALL_SECONDS * 1000),
    serialisesRequests: config.ADMISSION_CONTROL,
    trustedProxies: config.TRUSTED_PROXIES,
  }
}

const mediaWorkOf = (config: Config) => {
  const concurrency = config.MEDIA_WORK_CONCURRENCY
  if (!config.ADMISSION_CONTROL) return createUnlimitedMediaWork(concurrency)
  return createMediaWork({
    concurrency,
    runningPerAccount: config.MEDIA_WORK_CONCURRENCY_PER_ACCOUNT ?? Math.max(1, Math.floor(concurrency / 2)),
    inFlight: config.LIMIT_MEDIA_WORK,
  })
}

const withoutConsole = (table: Record<string, Operation>): Record<string, Operation> =>
  Object.fromEntries(Object.entries(table).filter(([id]) => !Object.hasOwn(consoleSessionOperations, id)))

export const createApiServer = async (context: ApiContext) => {
  const { config, log, postgres, mediaStore, spool, catalog, rateLimit, waitingCreates } = context
  const mayBeFree = createMayBeFree(context)
  const isGuarded = config.ADMISSION_CONTROL
  const authenticate = await createAuthenticate(postgres, config.KEY_HASH_SECRETS, config.CURRENCY)
  const diskSpace = createDiskSpace(spool.directory, isGuarded ? config.DISK_FREE_BYTES_MIN : 0)
  const requestRecorder = createRequestRecorder(
    { postgres, log },
    { sampledRowsPerMinute: isGuarded ? 100 : Infinity },
  )
  const { record, recordOverload, countOverload, count } = requestRecorder
  const serverFor = (served: Record<string, Operation>[], audience: 'customers' | 'operators') => {
    const { drain, ...parts } = createServer(
      {
        ...connectionSettingsOf(config),
        operations: served.flatMap((table) => Object.values(table)),
        audience,
        publicUrl: config.publicUrl,
        serverUrl: audience === 'operators' ? config.adminUrl : config.publicUrl,
        acceptsSessions: config.CONSOLE,
        allowedHosts: config.ALLOWED_HOSTS.and(audience === 'operators' ? config.adminUrl : config.publicUrl),
        overload: {
          eventLoopDelayMs: isGuarded ? config.OVERLOAD_EVENT_LOOP_DELAY_MS : 0,
          memoryBytes: isGuarded ? (config.OVERLOAD_MEMORY_BYTES ?? memoryBytesMax()) : 0,
          heapBytes: isGuarded ? heapBytesMax() : 0,
        },
      },
      {
        problems: async () => {
          try {
            const problem = await migrationProblem(postgres)
            return problem === undefined ? [] : [`${problem}; run \`kinora migrate\``]
          } catch (error) {
            if (isDatabaseUnavailable(error)) return ['PostgreSQL (DATABASE_URL) cannot be reached']
            throw error
          }
        },
        // Creates and reads of tasks go on without it.
        warnings: async () => {
          const problem = await mediaStore.findProblem?.()
          return problem === undefined ? [] : [problem]
        },
      },
      log,
      { record, recordOverload, countOverload, count: isGuarded ? count : record },
      {
        address: rateLimit.address,
        healthCheck: rateLimit.healthCheck,
        waitingCreates,
        likelyAccount: authenticate.likelyAccount,
      },
    )
    return { drain, parts }
  }
  const consoleOperations = config.CONSOLE ? consoleSessionOperations : {}
  const forCustomers = [withoutConsole(operations), webhookOperations, consoleOperations]
  const isAdminApart = config.ADMIN_PORT !== undefined
  const { drain, parts } = serverFor(
    isAdminApart ? forCustomers : [...forCustomers, adminOperations],
    'customers',
  )
  const admin = isAdminApart ? serverFor([adminOperations, consoleOperations], 'operators') : undefined
  const idempotency = createRunOnce({ postgres, log })
  const server: ApiServer = {
    ...parts,
    authenticate,
    rateLimit,
    admission: createAdmission(isGuarded ? admissionLimitsOf(config) : noAdmissionLimits),
    mediaWork: mediaWorkOf(config),
    providerSlots: isGuarded ? createProviderSlots() : unlimitedProviderSlots,
    readBytesPerSecondMin: isGuarded ? config.LIMIT_RESPONSE_BYTES_PER_SECOND_MIN : 0,
    waitingCreates,
    isGuarded,
    findPaymentProblem: async (caller, operation) => {
      if (!isGuarded || !errorsOf(operation).includes('insufficient_balance')) return undefined
      const problem = await findPaymentProblem(postgres, caller)
      return problem !== undefined && mayBeFree(caller, operation) ? undefined : problem
    },
    body: {
      minimumRate: {
        bytesPerSecondMin: isGuarded ? config.LIMIT_UPLOAD_BYTES_PER_SECOND_MIN : 0,
        windowMs: uploadRateWindowMs,
      },
      inflationMax: isGuarded ? inflationMax : Infinity,
    },
    form: {
      fileBytesMax: imageBytesMax,
      fieldBytesMax: mebibyte,
      fieldsBytesMax: isGuarded ? 2 * mebibyte : Infinity,
    },
    spool: createUploadSpool(spool.directory, diskSpace),
    idempotency: { fingerprintOf, runOnce: idempotency.runOnce, mayReplay: idempotency.mayReplay },
    modelIdOf: catalog.idOf,
    isTaskId: (text) => timeOfTaskId(text) !== undefined || dayOfTranscription(text) !== undefined,
    log,
  }
  return {
    server,
    /** The server of the admin API: the same one unless ADMIN_PORT is set. */
    adminServer: admin === undefined ? server : { ...server, ...admin.parts },
    diskSpace,
    drain: async () => {
      const lameDuckMs = config.LAME_DUCK_SECONDS * 1000
      await Promise.all([drain(lameDuckMs), admin?.drain(lameDuckMs)])
    },
    closeRecorders: async () => {
      await requestRecorder.close()
      idempotency.close()
    },
    closeAuthentication: () => authenticate.close(),
  }
}

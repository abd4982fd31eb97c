/** The web console: its files and its sessions, on each server that it can be reached at. */
import { operations } from '@kinora/contract/operations'

import { createAuditLog } from '../admin/audit-log/audit.ts'
import { addressPrefixOf } from '../admission/address-prefix.ts'
import { checkConsoleLink } from '../console/check-console-link.ts'
import { findConsoleFiles, openConsoleFiles } from '../console/console-files.ts'
import { createConsoleLink } from '../console/create-console-link.ts'
import { createConsoleSession } from '../console/create-console-session.ts'
import { deleteConsoleSession } from '../console/delete-console-session.ts'
import { getConsoleSession } from '../console/get-console-session.ts'
import { listConsoleSessions } from '../console/list-console-sessions.ts'
import { revokeConsoleSession } from '../console/revoke-console-session.ts'
import type { SignInDependencies } from '../console/sign-in.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { serveFiles } from '../http/server/serve-files.ts'
import { concurrencyLimitPerKey } from '../platform/concurrency-limit.ts'
import type { ApiContext } from './api-context.ts'

/** Long enough for a signature to be made. */
const probeSeconds = 60

/** How many sign-ins of one address are checked at once. They need the body, so the checks before it leave them out. */
const attemptsPerAddress = 8

/** The origin that downloads of media are redirected to; undefined if the API sends them itself. */
const findBucketOrigin = async ({ config, mediaStore, log }: ApiContext): Promise<string | undefined> => {
  if (config.MEDIA_REDIRECT_SECONDS === 0 || mediaStore.presign === undefined) return undefined
  try {
    const url = await mediaStore.presign('check/console', {
      contentType: 'video/mp4',
      disposition: 'inline',
      expiresInSeconds: probeSeconds,
    })
    return url === undefined ? undefined : new URL(url).origin
  } catch (error) {
    log.warn({ err: error }, 'console.media-origin-unknown')
    return undefined
  }
}

export const bindConsole = (
  server: ApiServer,
  context: ApiContext,
  { isForOperators }: { isForOperators: boolean },
): void => {
  const { config, postgres, rateLimit } = context
  if (!config.CONSOLE) return
  const startAttempt = concurrencyLimitPerKey(attemptsPerAddress)
  const auditLog = createAuditLog(config.AUDIT_SECRETS)
  const sessions: SignInDependencies = {
    postgres,
    authenticate: server.authenticate,
    secrets: config.KEY_HASH_SECRETS,
    currency: config.CURRENCY,
    startAttempt: (address, signal) => startAttempt(addressPrefixOf(address), signal),
    countFailedSignIn: rateLimit.countFailedSignIn,
    takesCustomers: !isForOperators,
    servesOperators: isForOperators || config.ADMIN_PORT === undefined,
    audit: auditLog.append,
  }
  bindOperation(server, operations.createConsoleSession, createConsoleSession(sessions))
  bindOperation(server, operations.createConsoleLink, createConsoleLink(sessions, config))
  bindOperation(server, operations.checkConsoleLink, checkConsoleLink(sessions))
  bindOperation(server, operations.getConsoleSession, getConsoleSession(sessions))
  bindOperation(server, operations.deleteConsoleSession, deleteConsoleSession(sessions))
  bindOperation(server, operations.listConsoleSessions, listConsoleSessions(sessions))
  bindOperation(server, operations.revokeConsoleSession, revokeConsoleSession(sessions))
  // The links to media lead to the server of the public API.
  const apiOrigin = isForOperators ? [new URL(config.publicUrl).origin] : []
  const findFile = openConsoleFiles({
    findDirectory: findConsoleFiles,
    findMediaOrigins: async () => {
      const bucket = await findBucketOrigin(context)
      return bucket === undefined ? apiOrigin : [...apiOrigin, bucket]
    },
  })
  serveFiles(server.app, '/console', { findFile: () => findFile(''), audience: 'console' })
  serveFiles(server.app, '/console/*', { findFile, audience: 'console' })
}

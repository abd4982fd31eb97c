/** The sections of the API reference. Their order, and the order of the operations in them, is that of the OpenAPI documents. */
import { adminOperations } from './admin-operations.ts'
import type { Operation } from './operation.ts'
import { operations } from './operations.ts'
import { accountOperations } from './operations/account.ts'
import { accountOperations as adminAccountOperations } from './operations/admin/accounts.ts'
import { auditLogOperations } from './operations/admin/audit-log.ts'
import { eventOperations as adminEventOperations } from './operations/admin/events.ts'
import { healthOperations } from './operations/admin/health.ts'
import { keyOperations } from './operations/admin/keys.ts'
import { ledgerOperations } from './operations/admin/ledger.ts'
import { modelOperations as adminModelOperations } from './operations/admin/models.ts'
import { overviewOperations } from './operations/admin/overview.ts'
import { planOperations } from './operations/admin/plans.ts'
import { priceOperations } from './operations/admin/prices.ts'
import { modelKindOperations, providerProtocolOperations } from './operations/admin/provider-protocols.ts'
import { providerOperations } from './operations/admin/providers.ts'
import { requestErrorOperations } from './operations/admin/request-errors.ts'
import { requestOperations } from './operations/admin/requests.ts'
import { settingOperations } from './operations/admin/settings.ts'
import { statementOperations as adminStatementOperations } from './operations/admin/statements.ts'
import { explanationOperations } from './operations/admin/task-explanations.ts'
import { taskTimelineOperations } from './operations/admin/task-timelines.ts'
import { taskOperations } from './operations/admin/tasks.ts'
import { characterOperations } from './operations/characters.ts'
import { chatOperations } from './operations/chat.ts'
import { consoleSessionOperations } from './operations/console-sessions.ts'
import { eventOperations } from './operations/events.ts'
import { accountKeyOperations } from './operations/keys.ts'
import { mediaOperations } from './operations/media.ts'
import { modelOperations } from './operations/models.ts'
import { ownAccountOperations } from './operations/own-account.ts'
import { remixOperations } from './operations/remixes.ts'
import { serviceOperations } from './operations/service.ts'
import { statementOperations } from './operations/statements.ts'
import { statusOperations } from './operations/status.ts'
import { transcriptionTaskOperations } from './operations/transcription-tasks.ts'
import { videoTaskOperations } from './operations/video-tasks.ts'
import { videoTimelineOperations } from './operations/video-timelines.ts'
import { videoOperations } from './operations/videos.ts'
import { webhookDeliveryOperations } from './operations/webhook-deliveries.ts'
import { webhookEndpointOperations } from './operations/webhook-endpoints.ts'
import { webhookSecretOperations } from './operations/webhook-secret.ts'

export interface Tag {
  name: string
  description: string
  operations: Operation[]
}

const tag = (name: string, description: string, ...tables: Record<string, Operation>[]): Tag => ({
  name,
  description,
  operations: tables.flatMap((table) => Object.values(table)),
})

const { createSpeech, listVoices, getVoiceSample, createTranscription, createTranslation } = operations

export const tags: Tag[] = [
  tag(
    'Videos',
    'Create videos from text, images and other videos, follow their tasks, and download the results.',
    videoOperations,
    videoTimelineOperations,
    remixOperations,
    videoTaskOperations,
  ),
  tag('Characters', 'Reusable people and things, named in prompts as `@username`.', characterOperations),
  tag('Speech', 'Turn text into speech.', { createSpeech, listVoices, getVoiceSample }),
  tag(
    'Transcription',
    'Turn recordings into text: short ones at once, long ones by a task.',
    { createTranscription, createTranslation },
    transcriptionTaskOperations,
  ),
  tag('Chat', 'Talk to audio models, and create videos in a conversation.', chatOperations),
  tag('Models', 'The models that your key can use.', modelOperations),
  tag('Events', 'Everything that happens in your account, to list or to follow.', eventOperations),
  tag(
    'Webhooks',
    'Signed requests to your server when something happens.',
    webhookEndpointOperations,
    webhookDeliveryOperations,
    webhookSecretOperations,
  ),
  tag('Account', 'Limits, usage, costs and alerts of your account.', accountOperations, ownAccountOperations),
  tag('Keys', 'The API keys of your account.', accountKeyOperations),
  tag('Statements', 'Monthly statements of your account.', statementOperations),
  tag('Media', 'Signed links to stored files.', mediaOperations),
  tag('Console', 'Signing in to the web console, and its sessions.', consoleSessionOperations),
  tag('Service', 'The service itself: its status, its errors and its description.', {
    ...serviceOperations,
    ...statusOperations,
    getErrorDocs: operations.getErrorDocs,
    getOpenapi: operations.getOpenapi,
  }),
]

export const adminTags: Tag[] = [
  tag('Accounts', 'Customers of the instance.', adminAccountOperations),
  tag('Plans', 'What subscriptions grant per cycle.', planOperations),
  tag('Keys', 'Keys of customers and operators.', keyOperations),
  tag('Ledger', 'Top-ups, adjustments, refunds and the entries behind them.', ledgerOperations),
  tag('Statements', 'Monthly statements of any account.', adminStatementOperations),
  tag('Prices', 'Prices per model.', priceOperations),
  tag('Health', 'The state of the whole instance.', overviewOperations, healthOperations),
  tag('Providers', 'The upstreams that do the work.', providerProtocolOperations, providerOperations),
  tag('Models', 'Models and their routes to providers.', modelKindOperations, adminModelOperations),
  tag(
    'Tasks',
    'Tasks of all accounts, and why they stand where they do.',
    taskOperations,
    explanationOperations,
    taskTimelineOperations,
  ),
  tag('Requests', 'The request log and total usage.', requestErrorOperations, requestOperations),
  tag('Events', 'Events of all accounts.', adminEventOperations),
  tag('Audit log', 'What operators have changed.', auditLogOperations),
  tag('Settings', 'Settings of the instance.', settingOperations, {
    getAdminOpenapi: adminOperations.getAdminOpenapi,
  }),
]

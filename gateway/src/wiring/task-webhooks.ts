/** Webhooks that creates name, and the secret that signs them. */
import { operations } from '@kinora/contract/operations'

import type { Config } from '../config.ts'
import type { ApiServer } from '../http/server/bind-operation.ts'
import type { TaskWebhooks } from '../tasks/requested-webhook.ts'
import { createAssignWebhooks } from '../webhooks/requested/assign-webhooks.ts'
import { createReadWebhook } from '../webhooks/requested/read-webhook.ts'
import { getWebhookSecret } from '../webhooks/secret/get-webhook-secret.ts'
import { rotateWebhookSecret } from '../webhooks/secret/rotate-webhook-secret.ts'
import type { ApiContext } from './api-context.ts'
import { createBindSelfService } from './bind-self-service.ts'
import { createWebhookPost, webhookSecretsOf } from './webhooks.ts'

export const createTaskWebhooks = (config: Config): TaskWebhooks => ({
  read: createReadWebhook(createWebhookPost(config)),
  assign: createAssignWebhooks(webhookSecretsOf(config)),
})

export const bindWebhookSecret = (server: ApiServer, { config, postgres }: ApiContext): void => {
  const bind = createBindSelfService(server, config)
  const sealingSecrets = webhookSecretsOf(config)
  bind(operations.getWebhookSecret, getWebhookSecret({ database: postgres, sealingSecrets }))
  bind(operations.rotateWebhookSecret, rotateWebhookSecret({ postgres, sealingSecrets }))
}

/** `/admin/v1/settings`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, optionals } from '../../fields.ts'
import { Limits, TaskCount } from '../../limit-fields.ts'
import { mebibyte } from '../../limits.ts'
import { errorsOfBodies, type Operation } from '../../operation.ts'
import { Days } from './admin-fields.ts'

const settingFields = {
  limits: Limits,
  concurrency_per_account: Nullable(
    TaskCount('Tasks that an account without its own limit may run at once; null for no limit.'),
  ),
  concurrency_per_key: Nullable(
    TaskCount('Tasks that a key without its own limit may run at once; null for no limit.'),
  ),
  queue_length_per_account: TaskCount(
    'Tasks that an account may have in the queue. Further requests get 429.',
  ),
  media_retention_days: Days('Days until media is deleted.'),
  task_retention_days: Days('Days until tasks are deleted.'),
  log_retention_days: Days('Days until entries of the request log are deleted.'),
}

export const InstanceSettings = Type.Object({ object: ObjectType('settings'), ...settingFields })
export type InstanceSettings = Static<typeof InstanceSettings>
export const SettingsChange = optionals(settingFields)

export const settingOperations = {
  getSettings: {
    id: 'getSettings',
    method: 'GET',
    path: '/admin/v1/settings',
    summary: 'Get the settings',
    description: 'Returns the settings that can be changed without a restart.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    answer: { description: 'The settings.', schema: InstanceSettings },
    errors: [],
  },
  updateSettings: {
    id: 'updateSettings',
    method: 'PATCH',
    path: '/admin/v1/settings',
    summary: 'Update the settings',
    description: 'Changes the settings that are present in the body. They apply to all processes at once.',
    access: 'operator',
    roles: ['admin'],
    body: { form: null, json: [SettingsChange], sizeBytesMax: mebibyte },
    answer: { description: 'The updated settings.', schema: InstanceSettings },
    errors: [...errorsOfBodies],
  },
} as const satisfies Record<string, Operation>

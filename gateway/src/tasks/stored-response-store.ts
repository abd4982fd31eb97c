/**
 * A part of a statement that deletes tasks: deletes the responses that are stored for repetitions of their creates. The query
 * `deleted` has the columns `id` and `account_id`.
 */
export const deleteStoredResponses = (deleted: string): string =>
  `update idempotency_keys k set headers = null, body = null, body_kind = null, task_id = null from ${deleted}
    where k.task_id = ${deleted}.id and k.account_id = ${deleted}.account_id and k.task_id is not null and k.body is not null`

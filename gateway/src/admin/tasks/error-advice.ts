/** What an error code means, and what to do about it, for operators. The catalog of errors speaks to callers. */
import { errors, type ErrorCode } from '@kinora/contract/errors'

/** For codes whose hint does not help an operator. */
const forOperators: Partial<Record<ErrorCode, string>> = {
  internal_error: 'Search the log for the id of a request. The line `request.failed` has the cause.',
  upstream_error: 'Test the provider, and read the attempts of a task there. Add another route to the model.',
  service_unavailable:
    'Check database, engine and disk with `kinora doctor`. If they are well, the service rejects load: add a process or raise its limits.',
  model_overloaded: 'Add slots or another route to the model, or let fewer tasks wait.',
  rate_limit_exceeded:
    'Nothing is wrong with the service. Raise the limits of the key if the customer needs more.',
  insufficient_balance: 'Top up the account, or tell the customer to.',
  quota_exceeded: 'Raise the quota of the key, or tell the customer to wait for the next cycle.',
  account_suspended: 'Activate the account if it was suspended by mistake.',
  ip_not_allowed: 'Add the address to the allow-list of the key if it belongs to the customer.',
  expired_api_key: 'Extend the key, or tell the customer to use another one.',
  host_not_allowed: 'Add the host to `ALLOWED_HOSTS` if customers should use it.',
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(errors, code)

export const adviseOn = (code: string): { cause: string; whatToDo: string } => {
  if (!isCode(code)) {
    return { cause: 'Another version of the service has this code.', whatToDo: 'Read one of the requests.' }
  }
  const { message, hint } = errors[code]
  return { cause: message, whatToDo: forOperators[code] ?? hint }
}

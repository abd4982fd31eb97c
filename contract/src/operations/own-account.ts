/** `/v1/account`: the budget and the alerts that a customer sets for their account. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, optionals, Time } from '../fields.ts'
import { mebibyte } from '../limits.ts'
import { amountMax, Currency, Micros, RequestCurrency, RequestMicros } from '../money.ts'
import { errorsOfBodies, type Operation } from '../operation.ts'

const spendAlertsMax = 10

/** The settings that the account has for itself. */
const budget = {
  spend_cap_micros: Nullable(
    RequestMicros(
      "Maximum amount that the account may spend per calendar month (UTC). Not above the operator's cap. Null for no limit besides that.",
    ),
  ),
  balance_alert_micros: Nullable(
    RequestMicros(
      'When the pay-as-you-go balance, with what is held, falls below this amount, the event `balance.low` occurs; again only after the balance was not below it. Null for no alert.',
      1,
    ),
  ),
  spend_alerts: Type.Array(Type.Integer({ minimum: 1, maximum: amountMax }), {
    maxItems: spendAlertsMax,
    description:
      'When the spending of a calendar month (UTC) reaches one of these amounts, the event `spend.threshold` occurs, once per month and amount. In millionths of `currency`.',
  }),
}

export const OwnAccountBody = optionals({ ...budget, currency: RequestCurrency })

export const OwnAccount = Type.Object({
  id: Type.String({ description: 'Id of the account.' }),
  object: ObjectType('account'),
  name: Type.String({ description: 'Name of the account.' }),
  balance: Type.Object(
    {
      available_micros: Micros('Amount that can be spent.'),
      held_micros: Micros('Amount held for running tasks and requests.'),
      currency: Currency,
    },
    { description: 'The pay-as-you-go balance.' },
  ),
  spent_micros: Micros(
    'Amount that all keys of the account have spent in this calendar month (UTC), with what is held.',
  ),
  spent_resets_at: Time('When the next month starts.'),
  ...budget,
  operator_spend_cap_micros: Nullable(
    Micros("The operator's cap per calendar month, which `spend_cap_micros` cannot exceed; null for none."),
  ),
  currency: Currency,
})
export type OwnAccount = Static<typeof OwnAccount>

export const ownAccountOperations = {
  getOwnAccount: {
    id: 'getOwnAccount',
    method: 'GET',
    path: '/v1/account',
    summary: 'Get the account',
    description: 'Returns the account of the key, with its balance, its spending, its budget and its alerts.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    answer: { description: 'The account.', schema: OwnAccount },
    errors: [],
  },
  updateOwnAccount: {
    id: 'updateOwnAccount',
    method: 'PATCH',
    path: '/v1/account',
    summary: 'Update the budget and the alerts of the account',
    description:
      'Changes the fields that are present in the body. An alert that the account has already reached occurs the next time it is reached: when the balance falls below it again, or in the next month.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    body: { form: null, json: [OwnAccountBody], sizeBytesMax: mebibyte },
    answer: { description: 'The updated account.', schema: OwnAccount },
    errors: [...errorsOfBodies],
  },
} as const satisfies Record<string, Operation>

/** `/console/v1`: how the web console signs in and out. Its other requests are those of the public and the admin API. */
import { Type, type Static } from 'typebox'

import type { ErrorCode } from '../errors.ts'
import { DeletedResource, Nullable, ObjectType, Page, pageQuery, ResourceId, Time } from '../fields.ts'
import { KeyHint } from '../key-fields.ts'
import { keyScopes } from '../key-scope.ts'
import { Currency } from '../money.ts'
import { errorsOfBodies, type Operation } from '../operation.ts'
import { operatorRoles } from '../operator-key.ts'

const bodyBytesMax = 4_096

const Keys = Type.Array(Type.String({ maxLength: 100 }), {
  minItems: 1,
  maxItems: 2,
  writeOnly: true,
  description: "The secrets of a customer's key, of an operator's key, or of one of each.",
})

const linkToken = 'The token of a sign-in link: what follows `#link=` in its URL.'
const token = { maxLength: 100, writeOnly: true }

export const ConsoleSessionBody = Type.Object({
  keys: Type.Optional(Keys),
  link: Type.Optional(Type.String({ ...token, description: `${linkToken} Instead of \`keys\`.` })),
})

export const ConsoleLinkBody = Type.Object({ keys: Keys })

export const ConsoleLinkToken = Type.Object({
  link: Type.String({ ...token, description: linkToken }),
})

const Account = Type.Object(
  {
    id: Type.String({ description: 'Id of the account.' }),
    name: Type.String({ description: 'Name of the account.' }),
  },
  { description: "The account of the customer's key; null without such a key." },
)

const key = {
  id: Type.String({ description: 'Id of the key.' }),
  hint: KeyHint,
  name: Type.String({ description: 'Name of the key.' }),
}

const operator = {
  id: Type.String({ description: 'Id of the operator key.' }),
  name: Type.String({ description: 'Name of the operator key.' }),
}

const operatorWithRole = {
  ...operator,
  role: Type.String({ enum: [...operatorRoles], description: 'Role of the operator key.' }),
}

export const ConsoleSession = Type.Object({
  id: Type.String({ description: 'Id of the session.' }),
  object: ObjectType('console.session'),
  account: Nullable(Account),
  key: Nullable(
    Type.Object(
      {
        ...key,
        kind: Type.String({
          enum: ['payg', 'subscription'],
          description: 'Whether the key pays from the pay-as-you-go balance or from the subscription.',
        }),
        scopes: Type.Array(Type.String({ enum: [...keyScopes] }), {
          description: 'What the key may do: `create`, `read`, `account`.',
        }),
      },
      { description: "The customer's key that the session stands for; null if there is none." },
    ),
  ),
  operator: Nullable(
    Type.Object(operatorWithRole, {
      description: 'The operator key that the session stands for; null if there is none.',
    }),
  ),
  currency: Currency,
  expires_at: Time('When the session ends if it stays unused.'),
})
export type ConsoleSession = Static<typeof ConsoleSession>

export const ConsoleSessionItem = Type.Object(
  {
    id: Type.String({ description: 'Id of the session.' }),
    object: ObjectType('console.session'),
    current: Type.Boolean({ description: 'Whether this is the session of the request.' }),
    account: Nullable(Account),
    key: Nullable(
      Type.Object(key, { description: "The customer's key of the session; null if there is none." }),
    ),
    operator: Nullable(
      Type.Object(operator, { description: 'The operator key of the session; null if there is none.' }),
    ),
    address: Type.String({ description: 'IP address that signed in.' }),
    user_agent: Nullable(
      Type.String({ description: 'The `User-Agent` of the browser; null if it sent none.' }),
    ),
    created_at: Time('When the session began.'),
    last_used_at: Time('When the session was last used, to the minute.'),
    expires_at: Time('When the session ends if it stays unused.'),
  },
  { description: 'The session.' },
)
export type ConsoleSessionItem = Static<typeof ConsoleSessionItem>

export const ConsoleLink = Type.Object({
  object: ObjectType('console.link'),
  url: Type.String({
    format: 'uri',
    description: 'The page that signs in with the link. The token is in the fragment, so no server logs it.',
  }),
  expires_at: Time('When the link expires.'),
})
export type ConsoleLink = Static<typeof ConsoleLink>

export const ConsoleLinkHolder = Type.Object({
  object: ObjectType('console.link_holder'),
  account: Nullable(Account),
  key: Nullable(
    Type.Object(key, {
      description: "The customer's key that the link signs in with; null if there is none.",
    }),
  ),
  operator: Nullable(
    Type.Object(operatorWithRole, {
      description: 'The operator key that the link signs in with; null if there is none.',
    }),
  ),
  expires_at: Time('When the link expires.'),
})
export type ConsoleLinkHolder = Static<typeof ConsoleLinkHolder>

/** Why keys cannot be used to sign in. */
const errorsOfKeys = [
  'invalid_api_key',
  'expired_api_key',
  'ip_not_allowed',
  'account_suspended',
  'access_denied',
] as const satisfies ErrorCode[]

const visible =
  "An operator key with the role `admin` sees the sessions of all keys, a customer's key with the scope `account` those of the keys of its account, and any other key its own."

export const consoleSessionOperations = {
  createConsoleSession: {
    id: 'createConsoleSession',
    method: 'POST',
    path: '/console/v1/sessions',
    summary: 'Sign in to the console',
    description:
      "Begins a session of the web console with keys or with a sign-in link, and sets its cookie. The cookie then stands for the customer's key in the public API and for the operator's key in the admin API. It ends after 12 hours without use, after 7 days, and as soon as none of its keys is accepted any more. An earlier session of the same browser ends.",
    access: 'none',
    body: { form: null, json: [ConsoleSessionBody], sizeBytesMax: bodyBytesMax },
    answer: { description: 'The session.', schema: ConsoleSession },
    errors: [...errorsOfBodies, ...errorsOfKeys, 'link_expired'],
  },
  createConsoleLink: {
    id: 'createConsoleLink',
    method: 'POST',
    path: '/console/v1/links',
    summary: 'Create a sign-in link',
    description:
      'Creates a link that signs a browser in to the web console, without the secrets of the keys. It is valid for 5 minutes and for one sign-in.',
    access: 'none',
    body: { form: null, json: [ConsoleLinkBody], sizeBytesMax: bodyBytesMax },
    answer: { description: 'The link.', schema: ConsoleLink },
    errors: [...errorsOfBodies, ...errorsOfKeys],
  },
  checkConsoleLink: {
    id: 'checkConsoleLink',
    method: 'POST',
    path: '/console/v1/links/check',
    summary: 'Check a sign-in link',
    description:
      'Returns whom a sign-in link stands for, and does not use it up. The console asks before it signs in with a link, because anybody can send one of an account of theirs.',
    access: 'none',
    body: { form: null, json: [ConsoleLinkToken], sizeBytesMax: bodyBytesMax },
    answer: { description: 'Whom the link stands for.', schema: ConsoleLinkHolder },
    errors: [...errorsOfBodies, ...errorsOfKeys, 'link_expired'],
  },
  getConsoleSession: {
    id: 'getConsoleSession',
    method: 'GET',
    path: '/console/v1/session',
    summary: 'Get the session of the console',
    description: 'Returns the session of the cookie, and whom it stands for. It fails with 401 without one.',
    access: 'none',
    answer: { description: 'The session.', schema: ConsoleSession },
    errors: ['missing_session', 'access_denied'],
  },
  deleteConsoleSession: {
    id: 'deleteConsoleSession',
    method: 'DELETE',
    path: '/console/v1/session',
    summary: 'Sign out of the console',
    description: 'Ends the session of the cookie and deletes the cookie.',
    access: 'none',
    answer: { description: 'The session has ended.', schema: DeletedResource('session') },
    errors: ['missing_session', 'access_denied'],
  },
  listConsoleSessions: {
    id: 'listConsoleSessions',
    method: 'GET',
    path: '/console/v1/sessions',
    summary: 'List sessions of the console',
    description: `Lists the sessions that have not ended, newest first. ${visible}`,
    access: 'none',
    parameters: { optionalQuery: pageQuery },
    answer: { description: 'A page of sessions.', schema: Page(ConsoleSessionItem) },
    errors: ['missing_session', 'access_denied', 'invalid_parameter'],
  },
  revokeConsoleSession: {
    id: 'revokeConsoleSession',
    method: 'DELETE',
    path: '/console/v1/sessions/{id}',
    summary: 'Revoke a session of the console',
    description: `Ends a session at once, with its event streams. ${visible}`,
    access: 'none',
    parameters: { path: ResourceId('session') },
    answer: { description: 'The session has ended.', schema: DeletedResource('session') },
    errors: ['missing_session', 'access_denied', 'resource_not_found'],
  },
} as const satisfies Record<string, Operation>

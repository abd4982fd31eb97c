/** Commands for providers, models, the request log, plans and money. */
import { defineCommand } from '../frame/command.ts'
import { currencyOption, operatorOptions, pageLimitOption, yesOption } from './operator-options.ts'

const account = { account: { summary: 'name or id of the account, or the beginning of one' } } as const
const setOption = {
  set: {
    type: 'list',
    value: 'name=value',
    summary: 'a setting, named as in the admin API; a value that is JSON is read as that',
  },
} as const
const planOptions = {
  days: { type: 'number', value: 'days', min: 1, max: 3660, summary: 'length of a cycle' },
  ...currencyOption,
} as const

export const providerCommands = [
  defineCommand({
    words: 'providers list',
    group: 'Operate',
    summary: 'List the providers with their state, their work and what they cost today.',
    options: { ...pageLimitOption, ...operatorOptions },
    example: 'kinora providers list',
    run: async (input) => (await import('../operator/providers.ts')).listProviders(input),
  }),
  defineCommand({
    words: 'providers add',
    group: 'Operate',
    summary: 'Add a provider or replace its settings, and test it.',
    details:
      'The API key is asked for on a terminal, or read from --key-file. It is not an option, because other users of the machine see those. Exits with 5 if the test fails; the provider stays.',
    arguments: { name: { summary: 'name of the provider' } },
    options: {
      kind: {
        type: 'text',
        isRequired: true,
        summary: 'its protocol, as in docs/providers.md, such as openai',
      },
      baseUrl: { type: 'text', value: 'url', summary: 'URL of its API (default: that of the kind)' },
      keyFile: { type: 'text', value: 'file', summary: 'file with the API key; - is stdin' },
      slots: { type: 'number', value: 'jobs', min: 1, summary: 'jobs that it may run at once' },
      budget: { type: 'text', value: 'amount', summary: 'what it may cost per day' },
      ...currencyOption,
      ...setOption,
      ...yesOption,
      ...operatorOptions,
    },
    example:
      'kinora providers add acme --kind openai --base-url https://api.acme.example/v1 --key-file acme.key',
    run: async (input) => (await import('../operator/providers.ts')).addProvider(input),
  }),
  defineCommand({
    words: 'providers test',
    group: 'Operate',
    summary: 'Test the address and the API key of a provider. Exits with 5 if the test fails.',
    arguments: { name: { summary: 'name of the provider' } },
    options: operatorOptions,
    example: 'kinora providers test acme',
    run: async (input) => (await import('../operator/providers.ts')).testProvider(input),
  }),
  defineCommand({
    words: 'models add',
    group: 'Operate',
    summary: 'Add a model, or change one, and route it to a provider.',
    arguments: { id: { summary: 'id of the model' } },
    options: {
      kind: {
        type: 'text',
        choices: ['video', 'speech', 'transcription', 'chat'],
        summary: 'what it makes; needed for a new model',
      },
      ...setOption,
      price: {
        type: 'list',
        value: 'unit=amount',
        summary: 'what customers pay per unit, such as second=0.25',
      },
      provider: { type: 'text', value: 'name', summary: 'the provider that serves it, as its only route' },
      upstream: { type: 'text', value: 'name', summary: 'what the provider calls it' },
      cost: { type: 'list', value: 'unit=amount', summary: 'what the provider charges per unit' },
      ...yesOption,
      ...operatorOptions,
    },
    example:
      "kinora models add clip-1 --kind video --set family=B --set seconds='[4,8]' --set sizes='[\"1280x720\"]' --price second=0.25 --provider acme",
    run: async (input) => (await import('../operator/models.ts')).addModel(input),
  }),
  defineCommand({
    words: 'models explain',
    group: 'Operate',
    summary:
      'Explain which providers a request for a model would go to, why, and what it would cost and earn.',
    arguments: { id: { summary: 'id of the model' } },
    options: {
      seconds: {
        type: 'number',
        short: 's',
        value: 'seconds',
        min: 1,
        summary: 'duration of video or audio',
      },
      size: { type: 'text', summary: 'size of the video, such as 1280x720' },
      images: { type: 'number', value: 'count', min: 0, summary: 'number of reference images' },
      characters: { type: 'number', value: 'count', min: 1, summary: 'characters to speak' },
      remix: { type: 'flag', summary: 'the video is a remix' },
      ...operatorOptions,
    },
    example: 'kinora models explain vidB-2 --seconds 8',
    run: async (input) => (await import('../operator/models.ts')).explainModel(input),
  }),
]

export const logCommands = [
  defineCommand({
    words: 'logs',
    group: 'Operate',
    summary: 'Show the newest requests of all accounts, and with -f those that follow.',
    details:
      'A request is in the log a second or two after its response; reads of the log itself are left out. With --json, each is one line of JSON. Stop -f with Ctrl-C.',
    options: {
      follow: { type: 'flag', short: 'f', summary: 'show requests as they happen' },
      status: {
        type: 'text',
        value: 'status',
        summary: 'only this status, such as 404, or class, such as 4xx',
      },
      account: { type: 'text', value: 'name', summary: 'only requests of this account' },
      path: { type: 'text', value: 'path', summary: 'only paths that begin with this, such as /v1/videos' },
      error: { type: 'text', value: 'code', summary: 'only requests that failed with this code' },
      model: { type: 'text', short: 'm', value: 'id', summary: 'only requests for this model' },
      ...pageLimitOption,
      ...operatorOptions,
    },
    example: 'kinora logs -f --status 4xx --account Aquarium',
    prints: 'one line per request: an entry of the response of `GET /admin/v1/requests`',
    run: async (input) => (await import('../operator/requests.ts')).showLogs(input),
  }),
  defineCommand({
    words: 'requests',
    group: 'Operate',
    summary: 'Show a request by the id that is in every error and every response.',
    arguments: { id: { summary: 'the request_id of an error, or the x-request-id of a response' } },
    options: operatorOptions,
    example: 'kinora requests req_01kqzv6n4pf8r0dx2m3c5t7y9b',
    run: async (input) => (await import('../operator/requests.ts')).getRequest(input),
  }),
]

export const moneyCommands = [
  defineCommand({
    words: 'top-up',
    group: 'Operate',
    summary: 'Add money to the balance of an account.',
    arguments: { ...account, amount: { summary: 'how much, such as 12.50' } },
    options: {
      wallet: {
        type: 'text',
        choices: ['payg', 'subscription'],
        default: 'payg',
        summary: 'the wallet that gets it',
      },
      reason: { type: 'text', value: 'text', default: 'top-up', summary: 'the reason, for the audit log' },
      reference: {
        type: 'text',
        value: 'text',
        summary: 'your own reference, such as an invoice number; a top-up that repeats it is not made again',
      },
      ...currencyOption,
      ...operatorOptions,
    },
    example: 'kinora top-up Aquarium 20.00 --currency USD --reference INV-1',
    run: async (input) => (await import('../operator/plans.ts')).topUp(input),
  }),
  defineCommand({
    words: 'plans list',
    group: 'Operate',
    summary: 'List the plans of subscriptions.',
    options: { ...pageLimitOption, ...operatorOptions },
    example: 'kinora plans list',
    run: async (input) => (await import('../operator/plans.ts')).listPlans(input),
  }),
  defineCommand({
    words: 'plans create',
    group: 'Operate',
    summary: 'Create a plan.',
    arguments: { name: { summary: 'name of the plan' } },
    options: {
      quota: { type: 'text', value: 'amount', isRequired: true, summary: 'what one cycle may spend' },
      ...planOptions,
      days: { ...planOptions.days, default: '30' },
      ...operatorOptions,
    },
    example: 'kinora plans create Studio --quota 100.00 --days 30',
    run: async (input) => (await import('../operator/plans.ts')).createPlan(input),
  }),
  defineCommand({
    words: 'plans update',
    group: 'Operate',
    summary: 'Change a plan. What is not named stays.',
    arguments: { plan: { summary: 'name or id of the plan, or the beginning of one' } },
    options: {
      name: { type: 'text', summary: 'the new name' },
      quota: { type: 'text', value: 'amount', summary: 'what one cycle may spend' },
      ...planOptions,
      ...operatorOptions,
    },
    example: 'kinora plans update Studio --quota 120.00',
    run: async (input) => (await import('../operator/plans.ts')).updatePlan(input),
  }),
]

import { createMethods } from './create-methods.ts'
import { adminMethodTable } from './generated/admin-method-table.ts'
import type { AdminMethods } from './generated/admin-types.ts'
import { openTransport, type KinoraOptions } from './settings.ts'

export type * from './generated/admin-types.ts'

/** A client of the admin API, for operators. */
export type KinoraAdmin = AdminMethods & { readonly baseUrl: string }

/** A client of the admin API: `new KinoraAdmin({ baseUrl, apiKey })` with the key of an operator. */
export const KinoraAdmin = function (options: KinoraOptions = {}) {
  const { baseUrl, send } = openTransport(options)
  return { ...createMethods<AdminMethods>(adminMethodTable, send), baseUrl }
} as unknown as new (options?: KinoraOptions) => KinoraAdmin

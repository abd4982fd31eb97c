import type { Config } from '../config.ts'
import type { Issuer } from '../statements/issuer.ts'

/** Who issues the statements, as the settings name them. */
export const readIssuer = (config: Config): Issuer => ({
  name: config.STATEMENT_NAME,
  address: config.STATEMENT_ADDRESS,
  taxNumber: config.STATEMENT_TAX_NUMBER,
  logo: config.STATEMENT_LOGO,
})

/** Code that sends the request of a form, in a tab for each language. */
import type { ReactNode } from 'react'
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components/Tabs'

import { useTexts } from '../../i18n/texts.ts'
import { Code } from '../../ui/code.tsx'
import { playgroundTexts } from '../tabs.ts'

import styles from './code-panels.module.css'

export const codeLanguages = ['curl', 'typescript', 'python', 'client', 'cli'] as const
export type CodeLanguage = (typeof codeLanguages)[number]

interface CodePanelsProps {
  /** The code, or why there is none. A language that is absent has no tab. */
  panels: { language: CodeLanguage; code: string | { none: string } }[]
  /** Beside the tabs. */
  aside?: ReactNode
}

export const CodePanels = ({ panels, aside }: CodePanelsProps) => {
  const { code: texts } = useTexts(playgroundTexts)
  return (
    <section className={styles['card']} aria-label={texts.title}>
      <Tabs>
        <div className={styles['head']}>
          <TabList aria-label={texts.label} className={styles['tabs'] ?? ''}>
            {panels.map(({ language }) => (
              <Tab key={language} id={language} className={styles['tab'] ?? ''}>
                {texts.languages[language]}
              </Tab>
            ))}
          </TabList>
          {aside}
        </div>
        {panels.map(({ language, code }) => (
          <TabPanel key={language} id={language} className={styles['panel'] ?? ''}>
            {typeof code === 'string' ? (
              <Code text={code} name={texts.copyName(texts.languages[language])} />
            ) : (
              <p className={styles['none']}>{code.none}</p>
            )}
          </TabPanel>
        ))}
      </Tabs>
      <p className={styles['foot']}>{texts.keyHelp}</p>
    </section>
  )
}

import { stemEnglish } from '../stems/english.ts'
import { ENGLISH } from './en.ts'
import type { LanguageTables } from './tables.ts'

const COUNTS = '一|二|两|三|四|五|六|七|八|九|十|几|半'
const MONTHS = ['一', '二', '三', '四', '五', '六', '七', '八', '九', '十', '十一', '十二']
const WEEKDAY = '日|天|一|二|三|四|五|六'

export const CHINESE: LanguageTables = {
  language: 'zh',
  // Words of other scripts inside Chinese text are mostly English.
  stop: new Set([
    ...ENGLISH.stop,
    ...['什么', '怎么', '为什', '哪里', '哪儿', '哪个', '哪一', '哪些', '多少', '时候', '谁', '几', '么', '那', '这'],
    ...['没有', '可以', '因为', '所以', '但是', '如果', '还是', '一个', '一下', '这个', '那个', '已经'],
  ]),
  telling: new Set(),
  stopCharacters: new Set('的了吗呢吧啊呀哦嗯我你您他她它们是在和与也都就着把被给很又请'),
  bases: ENGLISH.bases,
  spellings: new Map(),
  elided: null,
  stem: stemEnglish,
  months: MONTHS.map((name, month) => new RegExp(`(?<![0-9十])(?:${month + 1}|${name})\\s?月(?!前|后)`)),
  dayOfMonth: /月\s?(\d{1,2})\s?[日号]/,
  time: {
    pattern: new RegExp(
      [
        '(?<dayBeforeYesterday>前天)',
        '(?<yesterday>昨天|昨晚|昨日)',
        '(?<today>今天|今晚|今早|今日|刚才|刚刚)',
        '(?<dayAfterTomorrow>后天)',
        '(?<tomorrow>明天|明晚|明早|明日)',
        '(?<lastWeekend>上个?周末)',
        '(?<thisWeekend>(?:这个?|下个?)周末)',
        `(?<next>下个?(?:周|星期|礼拜))(?<weekday>${WEEKDAY})`,
        `(?:上个?|这个?)?(?:周|星期|礼拜)(?<weekday>${WEEKDAY})`,
        '(?<lastWeek>上个?(?:周|星期|礼拜))',
        '(?<thisWeek>(?:这个?|本)(?:周|星期|礼拜))',
        '(?<nextWeek>下个?(?:周|星期|礼拜))',
        '(?<lastMonth>上个?月)',
        '(?<thisMonth>这个?月|本月)',
        '(?<nextMonth>下个?月)',
        '(?<lastYear>去年)',
        `(?<count>\\d{1,4}|${COUNTS})个?(?<unit>天|日|周|星期|月|年)(?:之)?前`,
      ].join('|'),
      'g',
    ),
    counts: { ...{ 一: 1, 二: 2, 两: 2, 三: 3, 四: 4, 五: 5, 六: 6, 七: 7, 八: 8, 九: 9, 十: 10, 几: 3, 半: 1 } },
    units: {
      ...{ 天: ['day', 1], 日: ['day', 1], 周: ['week', 1], 星期: ['week', 1] },
      ...{ 月: ['month', 1], 年: ['year', 1] },
    },
    weekdays: { 日: 0, 天: 0, 一: 1, 二: 2, 三: 3, 四: 4, 五: 5, 六: 6 },
  },
  timeWord:
    /[今明昨后前]天|[今明昨][晚早日]|刚才|刚刚|最近|以前|之前|年|月|周|星期|礼拜|[0-9一二两三四五六七八九十几]+个?(?:天|小时)/,
  names: null,
  first: /我|咱/,
  firstAsked: /我|咱/,
  you: /你|您/,
  greeting: /^\s*(?:你好|您好|嗨|早上好|晚上好|再见|谢谢|太好了|不客气|恭喜|好的)/,
  past: /了(?![解如])|过(?![程去分敏])|曾经|已经/g,
  question: /(?:吗|呢|什么|谁|哪里|哪儿|多少|几点|怎么样)\s*$/,
  when: /什么时候|何时|哪天|哪一天|几号|几月|哪年|哪一年|哪个月|多久|几点/,
  asks: {
    place: /哪里|哪儿|什么地方|哪个(?:城市|国家|地方|省|公园|餐厅|酒店|商店)|在哪/,
    duration: /多久|多长时间|多少(?:天|年|个月|小时)|几(?:天|年|个月|小时|次)|多经常/,
    title: /(?:哪|什么)(?:本|部|首|款|个)?(?:书|电影|歌|游戏|乐队|节目|名字|牌子|品牌|公司)|叫什么|书名|片名/,
    person: /谁|哪位|什么人/,
  },
  gives: {
    place:
      /(?:[在去到从往]|住|搬)\s?\p{Script=Han}{2}|\p{Script=Han}(?:市|省|区|路|街|公园|机场|酒店|餐厅|大学|医院|车站|商店)/u,
    duration:
      /[0-9一二两三四五六七八九十几半每]+\s?个?(?:秒|分钟|小时|天|周|星期|月|年|次)|每天|每周|每月|经常|总是|有时/,
    title: /《[^《》]{1,100}》|「[^「」]{1,100}」|“[^“”]{1,100}”|叫(?:做)?[\p{Script=Han}A-Za-z]|名字是/u,
    person:
      /妈妈|爸爸|母亲|父亲|姐姐|妹妹|哥哥|弟弟|朋友|妻子|太太|丈夫|先生|女士|儿子|女儿|孩子|家人|同事|邻居|奶奶|爷爷|外婆|外公|叔叔|阿姨|老师|医生|经理|老板|团队|小[\p{Script=Han}]|老[\p{Script=Han}]/u,
  },
}

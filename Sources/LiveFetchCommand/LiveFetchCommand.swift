@main struct LiveFetchCommand { static func main() {} }

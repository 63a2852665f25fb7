def run_others(root, configs):
    return []
